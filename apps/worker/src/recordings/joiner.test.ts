/** The joiner on a database and a store: recordings become ready, and no attempt that fails loses one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { deleteRecording, findRecording } from "@realtime-avatar/db/recordings/recordings";
import type { RecordingId, SessionId } from "@realtime-avatar/domain/id";
import { fragmentKey } from "@realtime-avatar/domain/recordings/files";
import { type Fragment, writeFragment } from "@realtime-avatar/domain/recordings/fragment";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import { openVideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { createLog } from "@realtime-avatar/runtime/log";
import { openStorage } from "@realtime-avatar/storage/open";
import { type Storage, StorageError } from "@realtime-avatar/storage/storage";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { ageRecordings, endCall, seedRecordedCall, sendFragment } from "@realtime-avatar/testing/calls/recordings";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase, fileFolder, fixture } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { deliveredTypes, seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import { createUntilDue } from "../jobs/due-work.ts";
import { createTemporaryFolders } from "../jobs/temporary-folders.ts";
import { readManifest } from "../videos/c2pa/reader.testing.ts";
import { signVideo } from "../videos/sign.ts";
import { createTestRecorder, pictureTrack } from "./fragments.testing.ts";
import { JOINER_TIMING, type Joiner, type JoinerOptions, startJoiner } from "./joiner.ts";
import { deleteUnneededFiles } from "./unneeded-files.ts";

const { db } = await fileDatabase();
const { client } = db;
const [base, temporary] = [await fileFolder(), await fileFolder()];
const storage = await fixture(
  openStorage({ kind: "disk", directory: `${base}/files`, signingSecret: null }, { origin: () => "http://localhost" }),
);
const signer = await openVideoSigner(null, base, { warn: () => {} }, new Date());
const never = new AbortController().signal;

const lines: Record<string, unknown>[] = [];
const counted: string[] = [];
const joiners: Joiner[] = [];
const start = (changes: Partial<JoinerOptions> = {}): Joiner => {
  const joiner = startJoiner({
    ...{ db, storage, random, joins: 2, temporary: createTemporaryFolders(temporary) },
    log: createLog("trace", { write: (line: string) => void lines.push(JSON.parse(line)) }),
    metrics: { recordingsJoined: ({ outcome }) => void counted.push(outcome) },
    sign: (file) => signVideo({ ...file, signer }),
    timing: { ...JOINER_TIMING, failedMs: 20, renewMs: 50 },
    untilDue: createUntilDue(db, { least: 20, most: 20 })("recordings"),
    ...changes,
  });
  joiners.push(joiner);
  return joiner;
};

const { caller, avatarId, tenantId } = await (async () => {
  const tenantId = await seedTenant(db, { live: 1_000_000 });
  await seedEndpoint(db, tenantId);
  const { caller } = await seedCaller(db, tenantId, { environment: "live" });
  return { caller, tenantId, avatarId: await readyAvatar(db, caller) };
})();

const keysInStore = async (): Promise<string[]> =>
  (await Array.fromAsync(storage.list("recordings/"))).map(({ key }) => key).toSorted();
beforeEach(async () => {
  for (const table of ["call_recordings", "recording_fragments", "recordings", "unneeded_files"])
    await client.unsafe(`delete from ${table}`);
  for (const key of await keysInStore()) await storage.delete(key);
  counted.length = 0;
  lines.length = 0;
});
afterEach(async () => {
  await Promise.all(joiners.splice(0).map((joiner) => joiner.stop()));
  expect(await readdir(temporary)).toEqual([]);
});

const START = Date.now();
/** Three fragments of half a second in a row. `first`: how many fragments come before them. */
const sounds = (first = 0): Fragment[] => {
  const record = createTestRecorder("both");
  return [0, 1, 2].map((n) => ({ sounds: [record(START + (first + n) * 512, 24)], pictures: null }));
};

/** An ended call with these fragments, which is due. */
const endedCall = async (fragments: readonly Fragment[], mode: RecordedMode = "audio") => {
  const { id, recordings } = await seedRecordedCall(db, caller, avatarId, mode);
  for (const [n, fragment] of fragments.entries()) {
    const bytes = writeFragment(fragment);
    const stream = new Blob([bytes]).stream();
    const key = fragmentKey({ tenantId, sessionId: id }, { generation: 1, n });
    await storage.put(key, { stream, sizeBytes: bytes.length }, "application/octet-stream");
    expect(await sendFragment(db, id, { n, sizeBytes: bytes.length })).toBe("written");
  }
  await endCall(db, caller, id);
  await ageRecordings(db, 60);
  return { id, recordings };
};
const find = async (id: RecordingId | undefined) => {
  const found = await findRecording(db, caller, id as RecordingId);
  if (found === null) throw new Error("there is no such recording");
  return found;
};
const untilStatus = (id: RecordingId | undefined, status: string) =>
  until(async () => (await find(id)).recording.status === status, { state: async () => [await find(id), lines] });
const attempts = async (id: SessionId): Promise<number | null> =>
  (await client`select attempt_count as count from call_recordings where session_id = ${id} and lease is null`)[0]?.[
    "count"
  ] ?? null;
const untilAttempts = (id: SessionId, count: number) =>
  until(async () => (await attempts(id)) === count, { state: () => lines });
const makeDue = () =>
  client`update call_recordings set due_at = now() - interval '1 second',
    leased_until = case when lease is not null then now() - interval '1 second' end`;

describe("the recordings of a call that has ended", () => {
  test("sound: a signed MP4 in the store, ready with its times; its fragments are deleted", async () => {
    const { id, recordings } = await endedCall(sounds());
    start();
    await untilStatus(recordings[0], "ready");
    const { recording, key } = await find(recordings[0]);
    expect(recording).toMatchObject({
      ...{ mode: "audio", mediaType: "audio/mp4", durationMs: 1515 },
      ...{ mediaStartedAt: new Date(START).toISOString(), mediaEndedAt: new Date(START + 1536).toISOString() },
    });
    const stored = await storage.open(key ?? "");
    const bytes = Buffer.from(await new Response(stored?.stream).arrayBuffer());
    expect(bytes.length).toBe(recording.sizeBytes ?? 0);
    const { assertions, ...proofs } = await readManifest(bytes);
    expect(proofs).toMatchObject({ hasAssertions: true, hasSignature: true, hasFile: true });
    expect(JSON.stringify(assertions)).toContain("A recording of a call with an avatar");
    expect(await deliveredTypes(db, tenantId, recordings[0] as string)).toEqual(["recording.ready"]);
    expect(await keysInStore()).toHaveLength(4);
    expect(await deleteUnneededFiles({ db, storage }, 2, never)).toBe(3);
    expect(await keysInStore()).toEqual([key ?? ""]);
    expect([await attempts(id), counted]).toEqual([null, ["ready"]]);
  });

  test("of a person and an avatar: two files; the file of the person is marked as a recorded voice", async () => {
    const [user, avatar] = [createTestRecorder("user"), createTestRecorder("avatar")];
    const pictures = await pictureTrack(START, [0, 40], [50, 90]);
    const { recordings } = await endedCall(
      [{ sounds: [user(START, 24), avatar(START, 24)], pictures }],
      "participants",
    );
    start();
    for (const id of recordings) await untilStatus(id, "ready");
    const found = await Promise.all(recordings.map(find));
    expect(found.map(({ recording }) => [recording.participant?.role, recording.mediaType])).toEqual([
      ["user", "audio/mp4"],
      ["avatar", "video/mp4"],
    ]);
    const texts = await Promise.all(
      found.map(async ({ key }) => {
        const stored = await storage.open(key ?? "");
        return Buffer.from(await new Response(stored?.stream).arrayBuffer()).toString("latin1");
      }),
    );
    expect(texts.map((text) => [text.includes("digitalCapture"), text.includes("avcC")])).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  test("without a fragment: failed, with the event", async () => {
    const { recordings } = await endedCall([]);
    start();
    await untilStatus(recordings[0], "failed");
    expect((await find(recordings[0])).recording.errorCode).toBe("recording_unavailable");
    expect(await deliveredTypes(db, tenantId, recordings[0] as string)).toEqual(["recording.failed"]);
  });

  test("a fragment missing in the store, another one damaged: left out; the rest is ready", async () => {
    const { id, recordings } = await endedCall([...sounds(), ...sounds(3)]);
    await storage.delete(fragmentKey({ tenantId, sessionId: id }, { generation: 1, n: 1 }));
    const damaged = { stream: new Blob(["damaged"]).stream(), sizeBytes: 7 };
    await storage.put(fragmentKey({ tenantId, sessionId: id }, { generation: 1, n: 2 }), damaged, "text/plain");
    start();
    await untilStatus(recordings[0], "ready");
    // Silence takes their place.
    expect((await find(recordings[0])).recording.durationMs).toBe(Math.round((6 * 24 - 1) * (1024 / 48)));
    expect(lines.filter(({ msg }) => String(msg).includes("left out"))).toMatchObject([{ n: 1 }, { n: 2 }]);
  });
});

describe("an attempt that fails", () => {
  test("no fragment in the store: tried again later; ready when they are there", async () => {
    const { id, recordings } = await endedCall(sounds());
    const missing: Storage = { ...storage, open: async () => null };
    const joiner = start({ storage: missing });
    await untilAttempts(id, 1);
    const [row] = await client`select extract(epoch from due_at - now())::float as pause from call_recordings`;
    expect(row?.["pause"]).toBeLessThan(11);
    expect(counted).toEqual(["retry"]);
    await joiner.stop();
    await makeDue();
    start();
    await untilStatus(recordings[0], "ready");
  });

  test("a store that takes the first file and not the second: nothing of the attempt is left; the next one is ready", async () => {
    const [user, avatar] = [createTestRecorder("user"), createTestRecorder("avatar")];
    const { id, recordings } = await endedCall(
      [{ sounds: [user(START, 24), avatar(START, 24)], pictures: null }],
      "participants",
    );
    let puts = 0;
    const full: Storage = {
      ...storage,
      put: async (...args) => {
        if (++puts === 2) throw new StorageError("full", "The disk has no room for the file.");
        await storage.put(...args);
      },
    };
    start({ storage: full });
    await untilAttempts(id, 1);
    expect(await keysInStore()).toHaveLength(1);
    await makeDue();
    for (const recording of recordings) await untilStatus(recording, "ready");
    expect(counted).toEqual(["retry", "ready"]);
  });

  test("for the last time: failed, with the event", async () => {
    const { recordings } = await endedCall(sounds());
    await client`update call_recordings set attempt_count = 24`;
    const sign = async (): Promise<never> => {
      throw new Error("the certificate has expired");
    };
    start({ sign });
    await untilStatus(recordings[0], "failed");
    expect((await find(recordings[0])).recording.errorCode).toBe("recording_failed");
    expect(await deliveredTypes(db, tenantId, recordings[0] as string)).toEqual(["recording.failed"]);
  });

  test("after attempts that have ended their workers: failed without another one", async () => {
    const { recordings } = await endedCall(sounds());
    await client`update call_recordings set attempt_count = 25`;
    start({ storage: { ...storage, open: () => Promise.reject(new Error("read")) } });
    await untilStatus(recordings[0], "failed");
    expect(lines).toEqual([]);
  });
});

describe("a worker", () => {
  /** A store whose files can be read from `go` on. `reading`: the signal of the first attempt to read. */
  const gate = () => {
    const going = Promise.withResolvers<void>();
    const reading = Promise.withResolvers<AbortSignal | undefined>();
    const gated: Storage = {
      ...storage,
      open: async (key, range, signal) => {
        reading.resolve(signal);
        await going.promise;
        return storage.open(key, range, signal);
      },
    };
    return { gated, go: going.resolve, reading: reading.promise };
  };

  test("killed while it joins: its lease runs out, and another one makes the file", async () => {
    const { recordings } = await endedCall(sounds());
    const { gated, go, reading } = gate();
    const killed = start({ storage: gated });
    await reading;
    const stopped = killed.stop(true);
    go();
    await stopped;
    expect(counted).toEqual([]);
    await makeDue();
    start();
    await untilStatus(recordings[0], "ready");
    expect((await find(recordings[0])).key).toEndWith("-2");
  });

  test("stopped while it joins: hands the call back at once", async () => {
    const { recordings } = await endedCall(sounds());
    const { gated, go, reading } = gate();
    const stopping = start({ storage: gated });
    await reading;
    const stopped = stopping.stop();
    go();
    await stopped;
    expect(counted).toEqual(["retry"]);
    start();
    await untilStatus(recordings[0], "ready");
  });

  test("slower than its lease: renews it; the recording deleted meanwhile: ends, and leaves no file", async () => {
    const { recordings } = await endedCall(sounds());
    const { gated, go, reading } = gate();
    start({ storage: gated });
    const signal = await reading;
    const leasedUntil = async () => (await client`select leased_until from call_recordings`)[0]?.["leased_until"];
    const first = await leasedUntil();
    await until(async () => (await leasedUntil()) > first);
    await deleteRecording(db, recordings[0] as RecordingId, caller, { ...operatorOrigin(), actor: caller });
    await until(() => signal?.aborted === true);
    go();
    await until(async () => (await readdir(temporary)).length === 0);
    await deleteUnneededFiles({ db, storage }, 10, never);
    expect(await keysInStore()).toEqual([]);
  });

  test("whose end is recorded, and the response lost: the file stays", async () => {
    const { recordings } = await endedCall(sounds());
    let isLost = false;
    const losing: Db = {
      ...db,
      run: async <Row extends object>(text: string, parameters: readonly unknown[], name?: string): Promise<Row[]> => {
        const rows = await db.run<Row>(text, parameters, name);
        if (isLost || name !== "finish_recordings") return rows;
        isLost = true;
        throw new Error("the connection was lost");
      },
    };
    start({ db: losing });
    await until(async () => counted.length === 1);
    expect([isLost, counted]).toEqual([true, ["ready"]]);
    const { key, recording } = await find(recordings[0]);
    expect(recording.status).toBe("ready");
    expect(await keysInStore()).toContain(key ?? "");
  });

  test("whose end is recorded after its lease was lost: deletes its file", async () => {
    const { recordings } = await endedCall(sounds());
    let put = 0;
    const late: Storage = {
      ...storage,
      put: async (...args) => {
        await storage.put(...args);
        put++;
        await client`update call_recordings set lease = 'another'`;
      },
    };
    start({ storage: late, timing: { ...JOINER_TIMING, failedMs: 20, renewMs: 60_000 } });
    await until(async () => counted.includes("lost"));
    expect([put, counted]).toEqual([1, ["lost"]]);
    expect(await keysInStore()).toHaveLength(3);
    expect((await find(recordings[0])).recording.status).toBe("processing");
  });
});

describe("a file that the store cannot delete", () => {
  /** Refuses the keys with this end. */
  const refusing = (end: string): Pick<Storage, "delete"> => ({
    delete: async (key) => {
      if (key.endsWith(end)) throw new StorageError("unavailable", "The store did not respond.");
      await storage.delete(key);
    },
  });

  test("the others are deleted; it is tried again later", async () => {
    await endedCall(sounds());
    start();
    await until(async () => counted.length === 1);
    await expect(deleteUnneededFiles({ db, storage: refusing("1-1") }, 10, never)).rejects.toThrow("did not respond");
    expect(await keysInStore()).toHaveLength(2);
    expect(await deleteUnneededFiles({ db, storage }, 10, never)).toBe(0);
    await client`update unneeded_files set retry_at = now() - interval '1 second'`;
    expect(await deleteUnneededFiles({ db, storage }, 10, never)).toBe(1);
    expect(await keysInStore()).toHaveLength(1);
  });

  test("more such files than one look-up returns: later files are deleted in the same pass", async () => {
    await client`insert into unneeded_files (tenant_id, key, created_at)
      select ${tenantId}, 'recordings/' || i || case when i <= 40 then '-refused' else '' end, now() - interval '1 hour' + i * interval '1 second'
      from generate_series(1, 50) i`;
    await expect(deleteUnneededFiles({ db, storage: refusing("-refused") }, 20, never)).rejects.toThrow(
      "did not respond",
    );
    const [row] = await client`select count(*)::integer as count from unneeded_files where key like '%-refused'`;
    expect(row?.["count"]).toBe(40);
    expect(await client`select from unneeded_files where key not like '%-refused'`).toHaveLength(0);
  });
});
