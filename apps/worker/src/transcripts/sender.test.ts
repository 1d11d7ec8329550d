/** The sender of transcripts against receivers that verify with the published SDK. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { releaseCall } from "@realtime-avatar/db/calls/calls";
import { writeTranscript } from "@realtime-avatar/db/calls/transcripts";
import { type TranscriptSegment, transcriptSeals } from "@realtime-avatar/domain/calls/transcript";
import { newId } from "@realtime-avatar/domain/id";
import { createLog } from "@realtime-avatar/runtime/log";
import { readyAvatar, report, seedCall, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { verifyTranscript } from "realtime-avatar";
import { createUntilDue } from "../jobs/due-work.ts";
import { createPoster, type PostOptions } from "../remote/post.ts";
import { PUBLIC_INTERNET } from "../remote/request.ts";
import { SENDER_TIMING } from "../webhooks/sender.ts";
import { type Received, SEALING_KEY, startReceiver } from "../webhooks/world.testing.ts";
import { startTranscriptSender, type TranscriptSender } from "./sender.ts";

const { db } = await fileDatabase();
const { client } = db;
/** The status of the responses of each path; 204 for others. `hang`: no response. */
const statuses = new Map<string, number | "hang">();
const receiver = await fixture(
  startReceiver(({ path }, response) => {
    const status = statuses.get(path) ?? 204;
    if (status !== "hang")
      response.writeHead(status, { location: "https://other.example.com/stolen" }).end("a response");
  }),
);
const urlOf = (path: string, host = "hooks.example.com"): string => `https://${host}:${receiver.port}${path}`;
const SECRET = "the secret of the tenant";

const lines: string[] = [];
const counted: string[] = [];
const metrics = {
  transcriptAttempted: ({ class: attemptClass }: { class: string }) => void counted.push(attemptClass),
  transcriptEnded: (outcome: string) => void counted.push(outcome),
};
const startSender = (post: PostOptions = {}, changes = {}) =>
  startTranscriptSender({
    ...{ db, random, metrics, tracing: null, sealingKey: SEALING_KEY, userAgent: "realtime-avatar/test", sends: 8 },
    log: createLog("trace", { write: (line: string) => void lines.push(line) }),
    poster: createPoster({ network: receiver.network, connectMs: 60_000, totalMs: 60_000, bodyMs: 300, ...post }),
    timing: { ...SENDER_TIMING, failedMs: 100, stopMs: 1000 },
    untilDue: createUntilDue(db, { least: 20, most: 20 })("transcripts"),
    ...changes,
  });
/** A sender for each test of a `describe`. Transcripts of earlier tests are not sent. */
const sendDuringTests = (): void => {
  let sender: TranscriptSender | null = null;
  beforeEach(async () => {
    await client`delete from call_transcripts`;
    sender = startSender();
  });
  afterEach(() => sender?.stop());
};
beforeEach(() => sync(db, "worker", { slots: 200 }));

const newTenant = async (): Promise<Caller> => (await seedCaller(db, await seedTenant(db, { live: 1_000_000 }))).caller;
/** An ended call in which the person and the avatar said `texts` in turn. Its transcript is due. */
const endedCall = async (
  path: string,
  texts: readonly string[],
  { caller, url = urlOf(path), key = SEALING_KEY }: { caller?: Caller; url?: string; key?: Uint8Array } = {},
) => {
  const by = caller ?? (await newTenant());
  const avatarId = await readyAvatar(db, by);
  const id = newId("ses", new Date(), random);
  const seals = transcriptSeals(key, id);
  const transcript = seals.sealReceiver({ url, secret: SECRET }, random);
  await seedCall(db, by, avatarId, { id, transcript, metadata: { user_id: "ada" } });
  await sync(db, "worker", { slots: 200, calls: [report(id, "started", 1)] });
  const segments = texts.map((text, at): TranscriptSegment => {
    const isUser = at % 2 === 0;
    return { role: isUser ? "user" : "assistant", text, ts: Date.now(), ...(!isUser && { interrupted: true }) };
  });
  await writeTranscript(db, {
    ...{ workerId: "worker", sessionId: id, generation: 1, first: 0, isComplete: true, speaking: null },
    segments: segments.map((segment) => seals.sealSegment(segment, random)),
  });
  await releaseCall(db, { kind: "session", id }, { reason: null }, by, operatorOrigin(), null);
  return { id, avatarId, tenantId: by.tenantId, segments };
};
const stored = async (id: string) => {
  const [row] = await client<{ attempts: number | null; pause: number | null; segments: number }[]>`
    select (select attempt_count from call_transcripts where session_id = ${id} and lease is null) as attempts,
      (select extract(epoch from due_at - now())::float from call_transcripts where session_id = ${id}) as pause,
      (select count(*)::integer from call_segments where session_id = ${id}) as segments`;
  return row as NonNullable<typeof row>;
};
const isGone = async (id: string) => {
  const { pause, segments } = await stored(id);
  return pause === null && segments === 0;
};
const untilAttempts = (id: string, attempts: number) =>
  until(async () => (await stored(id)).attempts === attempts, { state: () => stored(id) });
const makeDue = (id: string) => client`update call_transcripts set due_at = now() where session_id = ${id}`;
const verify = ({ body, headers }: Received, secret = SECRET) => verifyTranscript(body, headers, secret);

describe("a transcript", () => {
  sendDuringTests();

  test("of an ended call, sent: once, accepted by the published SDK; with another secret or body: refused", async () => {
    const { id, avatarId, segments } = await endedCall("/first", ["What is the weather? é\u2028", "Mild today,"]);
    await until(() => isGone(id));
    const [message, ...others] = receiver.at("/first");
    expect(others).toEqual([]);
    if (!message) throw new Error("nothing was sent");
    const transcript = await verify(message);
    expect<object>(transcript).toEqual({
      ...{ type: "session.transcript", session_id: id, avatar_id: avatarId, mode: "avatar", truncated: false },
      ...{ started_at: expect.any(Number), ended_at: expect.any(Number), seconds: expect.any(Number) },
      ...{ segments, client_metadata: { user_id: "ada" } },
    });
    expect(transcript.ended_at).toBeGreaterThanOrEqual(transcript.started_at);
    expect(message.headers).toMatchObject({ "content-type": "application/json", "user-agent": "realtime-avatar/test" });
    await expect(verify(message, "another secret of someone")).rejects.toThrow("signature mismatch");
    await expect(verify({ ...message, body: `${message.body} ` })).rejects.toThrow("signature mismatch");
    const old = { ...message.headers, "x-rta-timestamp": String(Number(message.headers["x-rta-timestamp"]) - 360) };
    await expect(verify({ ...message, headers: old })).rejects.toThrow("outside the replay window");
  });

  test("delivered: its words, its URL and its secret are neither in the database nor in the log", async () => {
    const said = ["the code is heliotrope", "heliotrope it is"];
    const { id } = await endedCall("/erased-path", said);
    await until(() => isGone(id));
    const tables = await client<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`;
    expect(tables.length).toBeGreaterThan(30);
    for (const { name } of tables) {
      const [row] = await client.unsafe(
        `select count(*)::integer as count from ${name} t where t::text ~ 'heliotrope|erased-path|the secret of the tenant'`,
      );
      expect(`${name} ${row?.["count"]}`).toBe(`${name} 0`);
    }
    expect(lines.join("")).not.toMatch(/heliotrope|erased-path|the secret/);
  });

  test("while it waits: its words, its URL and its secret are sealed", async () => {
    statuses.set("/sealed-path", 500);
    const { id } = await endedCall("/sealed-path", ["heliotrope"]);
    await untilAttempts(id, 1);
    const rows = await client`
      select encode(receiver, 'escape') as text from call_transcripts where session_id = ${id}
      union all select encode(segment, 'escape') from call_segments where session_id = ${id}`;
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toMatch(/heliotrope|sealed-path|the secret/);
    expect(lines.join("")).not.toMatch(/heliotrope|sealed-path|the secret/);
  });

  test("of two tenants: each gets its own", async () => {
    const [one, two] = await Promise.all([endedCall("/one", ["of one"]), endedCall("/two", ["of two"])]);
    await until(async () => (await isGone(one.id)) && (await isGone(two.id)));
    const bodies = (path: string) => receiver.at(path).map(({ body }) => JSON.parse(body).segments[0].text);
    expect([bodies("/one"), bodies("/two")]).toEqual([["of one"], ["of two"]]);
  });

  test("of a call that the person did not join: sent without segments", async () => {
    const caller = await newTenant();
    const id = newId("ses", new Date(), random);
    const transcript = transcriptSeals(SEALING_KEY, id).sealReceiver({ url: urlOf("/alone"), secret: SECRET }, random);
    await seedCall(db, caller, await readyAvatar(db, caller), { id, transcript });
    await releaseCall(db, { kind: "session", id }, { reason: null }, caller, operatorOrigin(), null);
    await makeDue(id);
    await until(() => isGone(id));
    const [message] = receiver.at("/alone");
    expect(await verify(message as Received)).toMatchObject({ seconds: 0, segments: [], truncated: false });
  });
});

describe("an attempt that fails", () => {
  sendDuringTests();

  test("a receiver that responds with 500: ten attempts with the same body, signed anew, by the schedule of webhooks; then deleted", async () => {
    statuses.set("/down", 500);
    const beganAt = performance.now();
    const { id } = await endedCall("/down", ["Hello"]);
    await untilAttempts(id, 1);
    const { pause } = await stored(id);
    expect(pause).toBeLessThan(7);
    // A part of the pause has passed since the attempt.
    expect(Number(pause) + (performance.now() - beganAt) / 1000).toBeGreaterThan(4);
    // At a later second, the signature differs.
    await Bun.sleep(1100 - (Date.now() % 1000));
    await makeDue(id);
    await untilAttempts(id, 2);
    expect((await stored(id)).pause).toBeWithin(290, 361);
    const [first, second] = receiver.at("/down") as [Received, Received];
    expect(second.body).toBe(first.body);
    expect(second.headers["x-rta-signature"]).not.toBe(first.headers["x-rta-signature"]);
    expect((await verify(second)).session_id).toBe(id);
    for (let attempts = 3; attempts < 10; attempts++) {
      await makeDue(id);
      await untilAttempts(id, attempts);
    }
    counted.length = 0;
    await makeDue(id);
    await until(() => isGone(id));
    expect(receiver.at("/down")).toHaveLength(10);
    await until(() => counted.includes("given_up"));
    await until(() => lines.some((line) => line.includes("a transcript is given up") && line.includes(id)));
  });

  test("a receiver that works again: delivered", async () => {
    statuses.set("/again", 503);
    const { id } = await endedCall("/again", ["Hello"]);
    await untilAttempts(id, 1);
    statuses.delete("/again");
    await makeDue(id);
    await until(() => isGone(id));
    expect(receiver.at("/again")).toHaveLength(2);
  });

  test("a redirect: not followed, and tried again", async () => {
    statuses.set("/moved", 307);
    const { id } = await endedCall("/moved", ["Hello"]);
    await untilAttempts(id, 1);
    expect(receiver.at("/stolen")).toEqual([]);
  });

  test("410: given up and deleted at once", async () => {
    statuses.set("/gone", 410);
    const { id } = await endedCall("/gone", ["Hello"]);
    await until(() => isGone(id));
    expect(receiver.at("/gone")).toHaveLength(1);
  });

  test("a secret that was sealed with another key: a failed attempt, without a request", async () => {
    const { id } = await endedCall("/unreadable", ["Hello"], { key: new Uint8Array(32) });
    await untilAttempts(id, 1);
    expect(receiver.at("/unreadable")).toEqual([]);
  });
});

describe("another sender", () => {
  beforeEach(async () => {
    await client`delete from call_transcripts`;
  });

  test("a receiver that does not respond in time: tried again", async () => {
    statuses.set("/hang", "hang");
    const impatient = startSender({ totalMs: 300 });
    const { id } = await endedCall("/hang", ["Hello"]);
    await untilAttempts(id, 1);
    await impatient.stop();
    expect((await stored(id)).segments).toBe(1);
  });

  test.each([
    ["an address of this machine", "https://127.0.0.1/x", ["127.0.0.1"]],
    ["an address of the cloud's metadata", "https://169.254.169.254/latest", ["169.254.169.254"]],
    ["a name that resolves to this machine", "https://rebound.example.com/x", ["127.0.0.1"]],
    ["a name of which one address is private", "https://rebound.example.com/x", ["93.184.216.34", "10.0.0.1"]],
    ["http", "http://hooks.example.com/x", ["93.184.216.34"]],
  ])("a URL that has become forbidden, %s: no connection", async (_, url, addresses) => {
    const guarded = startTranscriptSender({
      ...{ db, random, metrics, tracing: null, sealingKey: SEALING_KEY, userAgent: "realtime-avatar/test", sends: 8 },
      log: createLog("silent", { write: () => {} }),
      poster: createPoster({ network: { ...PUBLIC_INTERNET, resolve: async () => addresses } }),
      timing: SENDER_TIMING,
      untilDue: createUntilDue(db, { least: 20, most: 20 })("transcripts"),
    });
    const before = receiver.connections();
    const { id } = await endedCall("", ["Hello"], { url });
    await until(async () => ((await stored(id)).attempts ?? 0) > 0);
    await guarded.stop();
    expect(receiver.connections()).toBe(before);
  });

  test("a worker that stops: handed back, not counted as an attempt", async () => {
    statuses.set("/stopping", "hang");
    const stopping = startSender({}, { timing: { ...SENDER_TIMING, stopMs: 50 } });
    const { id } = await endedCall("/stopping", ["Hello"]);
    await until(() => receiver.at("/stopping").length > 0);
    statuses.delete("/stopping");
    await stopping.stop();
    expect((await stored(id)).attempts).toBe(0);
    const rest = startSender();
    await until(() => isGone(id));
    await rest.stop();
  });

  /** The database, which refuses the statements of a function while `refuses()`. `refusals`: their times. */
  const failing = (name: string, refuses: () => boolean) => {
    const refusals: number[] = [];
    const run: typeof db.run = (text, parameters, ...rest) => {
      if (!text.includes(name) || !refuses()) return db.run(text, parameters, ...rest);
      refusals.push(performance.now());
      return Promise.reject(new Error("the database is down"));
    };
    return { refusals, db: { ...db, run } };
  };

  test("a database that is down: asked again within a second, so that a transcript comes soon after an outage", async () => {
    const down = failing("claim_transcripts", () => down.refusals.length < 5);
    const patient = startSender({}, { db: down.db, timing: SENDER_TIMING });
    const { id } = await endedCall("/outage", ["Hello"]);
    await until(() => isGone(id));
    await patient.stop();
    // A busy machine can lengthen a pause, and shortens none.
    const pauses = down.refusals.slice(1).map((at, index) => at - (down.refusals[index] ?? 0));
    expect(Math.min(...pauses)).toBeLessThan(600);
  });

  test("a database that is down while an outcome is recorded: recorded when it is back, and not sent again", async () => {
    const down = failing("finish_transcript", () => down.refusals.length < 6);
    const patient = startSender({}, { db: down.db });
    const { id } = await endedCall("/recorded-later", ["Hello"]);
    await until(() => isGone(id));
    await patient.stop();
    expect(down.refusals).toHaveLength(6);
    expect(receiver.at("/recorded-later")).toHaveLength(1);
  });

  test("a worker that stops while the database is down: stops, although an outcome is not recorded", async () => {
    const down = failing("finish_transcript", () => true);
    const stopping = startSender({}, { db: down.db, timing: { ...SENDER_TIMING, stopMs: 50 } });
    const { id } = await endedCall("/not-recorded", ["Hello"]);
    await until(() => down.refusals.length > 0);
    await stopping.stop();
    expect(await isGone(id)).toBe(false);
    expect(lines.some((line) => line.includes("failed to send a transcript") && line.includes(id))).toBe(true);
  });

  test("a tenant whose receiver does not respond: the transcripts of others are delivered meanwhile", async () => {
    statuses.set("/slow", "hang");
    const slow = await newTenant();
    for (let at = 0; at < 12; at++) await endedCall("/slow", ["Hello"], { caller: slow });
    const fast = startSender();
    await until(() => receiver.at("/slow").length === 4);
    const calls = await Promise.all(Array.from({ length: 6 }, () => endedCall("/fast", ["Hello"])));
    await until(async () => (await Promise.all(calls.map(({ id }) => isGone(id)))).every(Boolean));
    expect(receiver.at("/slow")).toHaveLength(4);
    await fast.stop(true);
  });
});
