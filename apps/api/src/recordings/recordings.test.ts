/**
 * Recordings: storing fragments of workers; reading, playing and deleting recordings. The reader is the published SDK.
 */
import { describe, expect, test } from "bun:test";
import { claimRecordings, finishRecordings, listUnneededFiles } from "@realtime-avatar/db/recordings/joining";
import { fragmentPath } from "@realtime-avatar/domain/calls/worker-sync";
import type { RecordingId, SessionId } from "@realtime-avatar/domain/id";
import { ACCESS_SECONDS } from "@realtime-avatar/domain/recordings/access";
import {
  fragmentKey,
  MAX_FRAGMENTS,
  MAX_RECORDING_BYTES,
  recordingKey,
} from "@realtime-avatar/domain/recordings/files";
import { MAX_FRAGMENT_BYTES, writeFragment } from "@realtime-avatar/domain/recordings/fragment";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import { ageRecordings, endCall, seedRecordedCall } from "@realtime-avatar/testing/calls/recordings";
import { findTestCaller } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { RealtimeAvatar } from "realtime-avatar";
import { testStorage } from "../../test/support/api.ts";
import { startCallApi, WORKER_SECRET } from "../../test/support/calls/calls.ts";
import { expectProblem } from "../../test/support/routes.ts";

let origin = "";
const storage = await testStorage(() => origin);
let now = new Date();
const clock = () => now;
const { api, takeSlots, tenantWith } = await startCallApi({ ...storage, clock });
origin = api.url;
const { db } = api.database;
const PATH = "/api/v1/recordings";
const FILE = Buffer.from("0123456789 the file of a recording");

const FRAGMENT = writeFragment({
  sounds: [{ role: "both", started_at: 1_795_000_000_000, samples: [new Uint8Array(9).fill(1)] }],
  pictures: null,
});

/** A tenant with a call that the worker `one` records. */
const recorded = async (mode: RecordedMode = "audio", changes: { mode?: "voice" } = {}) => {
  now = new Date();
  await takeSlots();
  for (const table of ["call_recordings", "recordings", "recording_fragments", "unneeded_files"]) {
    await db.client.unsafe(`delete from ${table}`);
  }
  const tenant = await tenantWith(10_000);
  const caller = await findTestCaller(db, tenant.root.record.keyId);
  const { id, recordings } = await seedRecordedCall(db, caller, tenant.avatarId as never, mode, changes);
  const sdk = new RealtimeAvatar({ apiKey: tenant.root.key, baseUrl: `${api.url}/api/v1` });
  return { ...tenant, caller, id, recordings, first: recordings[0] as RecordingId, sdk };
};
type Recorded = Awaited<ReturnType<typeof recorded>>;

const put = (
  id: string,
  {
    worker = "one",
    generation = 1,
    n = 0,
    body = FRAGMENT as Uint8Array,
    secret = WORKER_SECRET,
    type = "application/octet-stream",
  } = {},
) =>
  api.call("PUT", fragmentPath(worker, id as SessionId, generation, n), {
    headers: { authorization: `Bearer ${secret}`, "content-type": type },
    body,
  });
const storedKey = ({ tenantId, id }: Recorded, n = 0) => fragmentKey({ tenantId, sessionId: id }, { generation: 1, n });

/** Ends the call, and joins its fragments: each recording has the same file. */
const join = async ({ caller, id }: Recorded) => {
  await endCall(db, caller, id);
  await ageRecordings(db, 11);
  const claim = { lease: "a", leaseSeconds: 60, after: "", limit: 1, perTenant: 1, busyTenants: [] };
  const [claimed] = await claimRecordings(db, claim);
  if (claimed === undefined) throw new Error("no recording is due");
  const files = claimed.recordings.map((recording) => ({
    ...{ id: recording.id, key: recordingKey(claimed, recording.id, 1), sizeBytes: FILE.length, durationMs: 1000 },
    ...{ mediaStartedAt: new Date(1_795_000_000_000), mediaEndedAt: new Date(1_795_000_001_000) },
  }));
  for (const { key } of files) {
    await storage.storage.put(key, { stream: new Blob([FILE]).stream(), sizeBytes: FILE.length }, "video/mp4");
  }
  await finishRecordings(db, claimed, { lease: "a", outcome: { kind: "ready", files } });
};
const get = (path: string, key: string) => api.call("GET", `${PATH}${path}`, { key });
const download = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers });

describe("a fragment", () => {
  test("from the worker that has the call: 204, stored once", async () => {
    const one = await recorded();
    expect((await put(one.id)).status).toBe(204);
    expect((await put(one.id)).status).toBe(204);
    expect((await put(one.id, { n: MAX_FRAGMENTS - 1 })).status).toBe(204);
    const stored = await storage.storage.open(storedKey(one));
    expect(Buffer.from(await new Response(stored?.stream).arrayBuffer()).equals(FRAGMENT)).toBe(true);
    expect((await one.sdk.getRecording(one.first)).status).toBe("recording");
  });

  test("without the secret: 401; of another worker, call or generation, or with a malformed number: 404; no fragment is stored", async () => {
    const one = await recorded();
    expectProblem(await put(one.id, { secret: "another" }), "invalid_credentials");
    expectProblem(await put(one.id, { worker: "two" }), "not_found");
    expectProblem(await put(one.id, { generation: 2 }), "not_found");
    for (const n of [MAX_FRAGMENTS, 2 ** 31, "00" as never]) expectProblem(await put(one.id, { n }), "not_found");
    expectProblem(await put("ses_01h455vb4pex5vsknk084sn02q"), "not_found");
    expectProblem(await put("ses"), "not_found");
    expect(await storage.storage.stat(storedKey(one))).toBeNull();
  });

  test("a body too large, of another type, or without a fragment: 413, 415, 400", async () => {
    const one = await recorded();
    expectProblem(await put(one.id, { body: new Uint8Array(MAX_FRAGMENT_BYTES + 1) }), "body_too_large");
    expectProblem(await put(one.id, { type: "video/mp4" }), "unsupported_media_type");
    expectProblem(await put(one.id, { body: FRAGMENT.subarray(0, -1) }), "malformed_request");
    expect(await storage.storage.stat(storedKey(one))).toBeNull();
  });

  test("beyond the maximum of a call: 413; while the fragments are joined: 404", async () => {
    const one = await recorded();
    await db.client`update call_recordings set size_bytes = ${MAX_RECORDING_BYTES} where session_id = ${one.id}`;
    expectProblem(await put(one.id), "body_too_large");
    await db.client`update call_recordings set size_bytes = 0 where session_id = ${one.id}`;
    await put(one.id);
    await join(one);
    expectProblem(await put(one.id, { n: 1 }), "not_found");
  });

  test("while 32 others of its worker are being stored: 503; the others are stored", async () => {
    const one = await recorded();
    const { storage: store } = storage;
    const put_ = store.put;
    const going = Promise.withResolvers<void>();
    let waiting = 0;
    store.put = async (...all) => {
      waiting++;
      await going.promise;
      await put_.call(store, ...all);
    };
    try {
      const sent = Array.from({ length: 32 }, (_, n) => put(one.id, { n }));
      await until(() => waiting === 32);
      const refused = await put(one.id, { n: 32 });
      expectProblem(refused, "unavailable");
      going.resolve();
      expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(Array(32).fill(204));
    } finally {
      going.resolve();
      store.put = put_;
    }
    expect((await put(one.id, { n: 32 })).status).toBe(204);
  });

  test("of another worker: refused before its bytes are read", async () => {
    const one = await recorded();
    expectProblem(await put(one.id, { worker: "two", body: new Uint8Array(MAX_FRAGMENT_BYTES + 1) }), "not_found");
  });

  test("refused by its row after it was stored: its file is deleted", async () => {
    const one = await recorded();
    const { storage: store } = storage;
    const put_ = store.put;
    // The recording is deleted while the bytes arrive.
    store.put = async (...all) => {
      await put_.call(store, ...all);
      await db.client`delete from call_recordings where session_id = ${one.id}`;
    };
    try {
      expectProblem(await put(one.id), "not_found");
    } finally {
      store.put = put_;
    }
    expect(await store.stat(storedKey(one))).toBeNull();
  });
});

describe("the SDK", () => {
  test("reads the recordings of a call from their start to their file, and plays them by their timeline", async () => {
    const one = await recorded("participants");
    const page = await one.sdk.listRecordings({ sessionId: one.id });
    expect(page.data.map(({ recordingId }) => recordingId)).toEqual(one.recordings.toReversed());
    expect(await one.sdk.getRecording(one.first)).toMatchObject({ status: "pending", mode: "audio" });
    await put(one.id);
    await join(one);
    expect(await one.sdk.getRecording(one.recordings[1] as string)).toMatchObject({
      ...{ status: "ready", mode: "audio_video", mediaType: "video/mp4", sizeBytes: FILE.length, durationMs: 1000 },
      participant: { participantIdentity: "avatar", role: "avatar" },
    });
    const { recordingTimeline } = await import("realtime-avatar/recording");
    const { data } = await one.sdk.listRecordings({ limit: 10 });
    expect(recordingTimeline(data)?.durationMs).toBe(1000);
    const access = await one.sdk.getRecordingAccess(one.first);
    expect(await (await download(access.url)).text()).toBe(FILE.toString());
  });

  test("a page at a time", async () => {
    const one = await recorded("participants");
    const first = await one.sdk.listRecordings({ limit: 1 });
    const second = await one.sdk.listRecordings({ limit: 1, cursor: first.nextCursor as string });
    expect([...first.data, ...second.data].map(({ recordingId }) => recordingId)).toEqual(one.recordings.toReversed());
    expect(second.nextCursor).toBeNull();
  });
});

describe("the file", () => {
  test("served whole or in parts, as an attachment, not cached, in a sandbox", async () => {
    const one = await recorded();
    await put(one.id);
    await join(one);
    const { url, expiresAt } = await one.sdk.getRecordingAccess(one.first);
    expect(Date.parse(expiresAt) - now.getTime()).toBeGreaterThan((ACCESS_SECONDS - 1) * 1000);
    const whole = await download(url);
    expect(whole.status).toBe(200);
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      ...{ "content-type": "audio/mp4", "cache-control": "private, no-store", "accept-ranges": "bytes" },
      "content-disposition": `attachment; filename="${one.first}.mp4"`,
      "content-security-policy": "sandbox; default-src 'none'; media-src 'self'",
    });
    const part = await download(url, { range: "bytes=2-5" });
    expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([
      206,
      `bytes 2-5/${FILE.length}`,
      "2345",
    ]);
    expect((await download(url, { range: "bytes=999-" })).status).toBe(416);
  });

  test("of a recording without a file: 409", async () => {
    const one = await recorded();
    expectProblem(await get(`/${one.first}/access`, one.root.key), "recording_not_ready");
  });

  test("by a URL that has expired or was changed, or of a deleted or too old recording: 404", async () => {
    const one = await recorded();
    await put(one.id);
    await join(one);
    const { url } = await one.sdk.getRecordingAccess(one.first);
    expect((await download(url.replace(".live.", ".test."))).status).toBe(404);
    expect((await download(`${url}x`)).status).toBe(404);
    await ageRecordings(db, 30 * 86_400);
    expect((await download(url)).status).toBe(404);
    expectProblem(await get(`/${one.first}/access`, one.root.key), "recording_not_ready");
    await ageRecordings(db, -30 * 86_400);
    expect((await download(url)).status).toBe(200);
    now = new Date(now.getTime() + ACCESS_SECONDS * 1000);
    expect((await download(url)).status).toBe(404);
    now = new Date();
    await api.call("DELETE", `${PATH}/${one.first}`, { key: one.root.key });
    expect((await download(url)).status).toBe(404);
  });
});

describe("a deletion", () => {
  test("by a key with usage:write: deleted, with an audit event; its files are marked for deletion", async () => {
    const one = await recorded();
    await put(one.id);
    await join(one);
    const removed = await api.call("DELETE", `${PATH}/${one.first}`, { key: one.root.key });
    expect(removed.body).toEqual({ recordingId: one.first, status: "deleted" });
    expectProblem(await get(`/${one.first}`, one.root.key), "not_found");
    expectProblem(await api.call("DELETE", `${PATH}/${one.first}`, { key: one.root.key }), "not_found");
    const events = await api.call("GET", "/api/v1/audit-events?action=recording.deleted", { key: one.root.key });
    expect(events.body.data).toMatchObject([{ targetId: one.first, actorId: one.root.record.id }]);
    const keys = (await listUnneededFiles(db, 10, new Date())).map(({ key }) => key);
    expect(keys).toHaveLength(2);
  });

  test("by a key without usage:write: 403", async () => {
    const one = await recorded();
    const { key } = await one.newKey({ scopes: ["usage:read"] });
    expect((await get(`/${one.first}`, key)).status).toBe(200);
    expectProblem(await api.call("DELETE", `${PATH}/${one.first}`, { key }), "insufficient_scope");
  });
});

test("a key of another tenant or environment, or a malformed id: 404 everywhere, and an empty list", async () => {
  const one = await recorded();
  const other = await tenantWith(1);
  const own = await one.newKey({ environment: "test" });
  for (const key of [other.root.key, own.key]) {
    for (const path of [`/${one.first}`, `/${one.first}/access`]) expectProblem(await get(path, key), "not_found");
    expectProblem(await api.call("DELETE", `${PATH}/${one.first}`, { key }), "not_found");
    expect((await get("", key)).body.data).toEqual([]);
    expect((await get(`?sessionId=${one.id}`, key)).body.data).toEqual([]);
  }
  expectProblem(await get("/rec", one.root.key), "not_found");
  expectProblem(await get(`/${one.id}`, one.root.key), "not_found");
});
