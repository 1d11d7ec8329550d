import { expect, test } from "bun:test";
import { manifestId } from "@realtime-avatar/domain/avatars/preparation";
import type { AvatarId, TenantId } from "@realtime-avatar/domain/id";
import { createManifests, MAX_MANIFEST_BYTES } from "./manifests.ts";

const HOUR = 3_600_000;
const call = (sessionId = "ses_1") => ({
  ...{ tenantId: "ten_1" as TenantId, sessionId, generation: 1, avatarId: "ava_1" as AvatarId },
  ...{ manifest: manifestId(1, "0".repeat(64)), usedSeconds: 0 },
});
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
/** A store that returns this stream for every file. */
const storeWith = (stream: () => ReadableStream<Uint8Array>, sizeBytes = 1) => ({
  open: async () => ({ stream: stream(), sizeBytes }),
});
const streamOf =
  (...chunks: Uint8Array[]) =>
  () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
const read = (store: Parameters<typeof createManifests>[0], times = { read: HOUR, reread: HOUR, remember: HOUR }) =>
  createManifests(store, times).of(call());

test("a manifest in pieces: read, even if the store reports another length", async () => {
  const store = storeWith(streamOf(encode('{"pictures":'), encode("null}")), 50 * 2 ** 30);
  expect(await read(store)).toEqual({ kind: "read", manifest: { pictures: null } });
});

test("no manifest, or no file in the store: null", async () => {
  const none = { ...call(), manifest: null };
  const store = { open: async () => null };
  expect(await createManifests(store).of(none)).toEqual({ kind: "read", manifest: null });
  expect(await read(store)).toEqual({ kind: "read", manifest: null });
});

test.each([
  ["text that is not JSON", "<html>"],
  ["an array", "[]"],
  ["null", "null"],
])("%s: unusable", async (_, text) => {
  expect(await read(storeWith(streamOf(encode(text))))).toEqual({ kind: "unusable", why: "no JSON object" });
});

test("a file at the limit: read; one byte more: unusable", async () => {
  const text = JSON.stringify({ a: "x".repeat(MAX_MANIFEST_BYTES - 8) });
  expect(text.length).toBe(MAX_MANIFEST_BYTES);
  expect((await read(storeWith(streamOf(encode(text))))).kind).toBe("read");
  const longer = storeWith(streamOf(encode(text), encode(" ")));
  expect(await read(longer)).toEqual({ kind: "unusable", why: "too large" });
});

test("an endless stream: read up to the limit, and cancelled", async () => {
  const cancelled = Promise.withResolvers<void>();
  let sent = 0;
  const endless = () =>
    new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          sent++;
          controller.enqueue(new Uint8Array(1024).fill(0x20));
        },
        cancel: () => cancelled.resolve(),
      },
      { highWaterMark: 0 },
    );
  expect(await read(storeWith(endless))).toEqual({ kind: "unusable", why: "too large" });
  await cancelled.promise;
  expect(sent).toBe(MAX_MANIFEST_BYTES / 1024 + 1);
});

test("a store that does not respond in time: late; its request ends", async () => {
  const ended = Promise.withResolvers<void>();
  const open: Parameters<typeof createManifests>[0]["open"] = (_key, _range, signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => {
        ended.resolve();
        reject(new Error("aborted"));
      });
    });
  expect(await read({ open }, { read: 10, reread: 10, remember: HOUR })).toEqual({ kind: "unusable", why: "late" });
  await ended.promise;
});

test("a manifest that comes while the process is busy for longer than the limit: read", async () => {
  const open = async () => {
    // Like a store: several steps, each of which waits for the process.
    for (let step = 0; step < 10; step++) await new Promise((next) => setImmediate(next));
    return { stream: streamOf(encode("{}"))(), sizeBytes: 2 };
  };
  const reading = read({ open }, { read: 400, reread: 400, remember: HOUR });
  Bun.sleepSync(500);
  expect(await reading).toEqual({ kind: "read", manifest: {} });
});

test("a late manifest of a call that has begun: read, because it was read before", async () => {
  const opened = Promise.withResolvers<{ stream: ReadableStream<Uint8Array>; sizeBytes: number }>();
  const manifests = createManifests({ open: () => opened.promise }, { read: 10, reread: HOUR, remember: HOUR });
  const begun = manifests.of({ ...call("ses_2"), usedSeconds: 1 });
  expect(await manifests.of(call())).toEqual({ kind: "unusable", why: "late" });
  opened.resolve({ stream: streamOf(encode("{}"))(), sizeBytes: 2 });
  expect(await begun).toEqual({ kind: "read", manifest: {} });
});

test("a stream that does not end in time: late, and cancelled", async () => {
  const cancelled = Promise.withResolvers<void>();
  const stalled = () => new ReadableStream<Uint8Array>({ cancel: () => cancelled.resolve() });
  expect(await read(storeWith(stalled), { read: 10, reread: 10, remember: HOUR })).toEqual({
    kind: "unusable",
    why: "late",
  });
  await cancelled.promise;
});

test("a store that opens the file too late: late, and the stream that comes then is cancelled", async () => {
  const opened = Promise.withResolvers<{ stream: ReadableStream<Uint8Array>; sizeBytes: number }>();
  const cancelled = Promise.withResolvers<void>();
  const store = { open: () => opened.promise };
  expect(await read(store, { read: 10, reread: 10, remember: HOUR })).toEqual({ kind: "unusable", why: "late" });
  opened.resolve({ stream: new ReadableStream({ cancel: () => cancelled.resolve() }), sizeBytes: 1 });
  await cancelled.promise;
});

test("a store that fails: asked again later, not at once", async () => {
  let opened = 0;
  const error = new Error("the store is unavailable");
  const manifests = createManifests(
    {
      open: async () => {
        if (++opened === 1) throw error;
        return { stream: streamOf(encode("{}"))(), sizeBytes: 2 };
      },
    },
    { read: HOUR, reread: HOUR, remember: 20 },
  );
  const both = await Promise.all([manifests.of(call()), manifests.of(call())]);
  expect(both).toEqual([
    { kind: "failed", error },
    { kind: "failed", error },
  ]);
  expect(opened).toBe(1);
  for (let outcome = await manifests.of(call()); outcome.kind === "failed"; outcome = await manifests.of(call()))
    await Bun.sleep(5);
  expect(opened).toBe(2);
});
