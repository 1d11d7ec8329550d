/** Calls in the conformance test: the avatar of the examples, slots, and requests for each documented response. */
import { expect } from "bun:test";
import { syncWorker } from "@realtime-avatar/db/calls/fleet";
import type { CreateApiKey } from "@realtime-avatar/domain/api-keys/schemas";
import { MAX_WAITING_TRANSCRIPTS } from "@realtime-avatar/domain/calls/transcript";
import { MAX_WAITING_TURNS } from "@realtime-avatar/domain/calls/turns";
import { RECORDING, RESUME, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import type { TestDatabase } from "@realtime-avatar/testing/database";
import { startLivekitStandIn } from "@realtime-avatar/testing/livekit/stand-in";
import { operatorOrigin } from "@realtime-avatar/testing/seeds";
import { EXAMPLES } from "../../../src/openapi/examples.ts";
import { type Answer, one, type Sent } from "../openapi/conformance.ts";
import type { Described } from "../openapi/openapi.ts";
import { callOptions } from "./calls.ts";

const START = EXAMPLES.StartCall;

type Send = (described: Described, sent: Sent) => Promise<Answer>;
type Callers = {
  send: Send;
  /** Sends a request to a service without LiveKit. */
  sendWithout: Send;
  /** Sends a request to a service with an agent for calls. */
  sendToAgent: Send;
  newKey: (request?: Partial<CreateApiKey>) => Promise<{ record: { id: string }; key: string }>;
  /** A key of a tenant without credits. */
  poor: string;
};

/** Causes each documented response of `POST /realtime/prepare`, and checks it. */
const expectPrepared = async ({ send, sendWithout }: Callers): Promise<void> => {
  const operation = one("prepareCall");
  const body = { avatar_id: START.avatar_id };
  expect((await send(operation, { body })).status).toBe(200);
  expect((await send(operation, { body: { avatar_id: "x" } })).code).toBe("not_found");
  const made = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
  expect((await send(operation, { body: { avatar_id: JSON.parse(made.text).id } })).code).toBe("avatar_not_ready");
  expect((await sendWithout(operation, { body })).code).toBe("realtime_not_configured");
  const headers = { "idempotency-key": "conformance-prepare" };
  for (const replayed of [null, "true"]) {
    const { headers: sent } = await send(operation, { headers, body });
    expect(sent.get("idempotent-replayed")).toBe(replayed);
  }
  const reused = await send(operation, { headers, body: { avatar_id: "x" } });
  expect(reused.code).toBe("idempotency_key_reused");
};

/** Causes each documented response of the turns of calls, and checks it. */
const expectTurns = async ({ send, sendWithout }: Callers, { client }: TestDatabase["db"]): Promise<void> => {
  const [create, interrupt] = [one("createTurn"), one("interruptCall")];
  const { text } = await send(one("startCall"), { body: START });
  const call = { session_id: JSON.parse(text).session_id };
  const turn = { ...call, kind: "say", text: "Hello." };
  for (const [operation, body] of [
    [create, turn],
    [interrupt, call],
  ] as const) {
    expect((await sendWithout(operation, { body })).code).toBe("realtime_not_configured");
    expect((await send(operation, { body: { ...body, session_id: "x" } })).code).toBe("not_found");
    const headers = { "idempotency-key": `conformance-${operation.operation.operationId}` };
    for (const replayed of [null, "true"]) {
      const { status, headers: sent } = await send(operation, { headers, body });
      expect([status, sent.get("idempotent-replayed")]).toEqual([202, replayed]);
    }
    const reused = await send(operation, { headers, body: { ...body, session_id: "x" } });
    expect(reused.code).toBe("idempotency_key_reused");
  }
  expect((await send(create, { body: { ...turn, kind: "answer" } })).code).toBe("conversation_not_configured");
  for (let n = 0; n < MAX_WAITING_TURNS; n++) expect((await send(create, { body: turn })).status).toBe(202);
  expect((await send(create, { body: turn })).code).toBe("too_many_turns");
  await client`update fleet.avatar_workers set features = '{}'`;
  expect((await send(interrupt, { body: call })).code).toBe("conversation_not_configured");
  await client`update fleet.avatar_workers set features = ${[RESUME, TURNS, RECORDING]}`;
  await send(one("releaseCall"), { body: call });
  expect((await send(create, { body: turn })).code).toBe("call_not_running");
  expect((await send(interrupt, { body: call })).code).toBe("call_not_running");
};

/** Causes each documented response of `POST /realtime/livekit/session/resume`, and checks it. */
const expectResumed = async ({ client }: TestDatabase["db"], { send, sendWithout, newKey }: Callers): Promise<void> => {
  const [start, resume] = [one("startCall"), one("resumeCall")];
  const { record, key } = await newKey();
  const { session_id } = JSON.parse((await send(start, { key, body: START })).text);
  const body = { session_id };
  expect((await send(resume, { key, body })).code).toBe("call_not_resumable");
  expect((await sendWithout(resume, { body })).code).toBe("realtime_not_configured");
  expect((await send(resume, { body: { session_id: "x" } })).code).toBe("not_found");
  await client`update fleet.avatar_workers set features = ${[RESUME, TURNS, RECORDING]}`;
  await client`update usage_sessions set status = 'started', started_at = created_at where id = ${session_id}`;
  const headers = { "idempotency-key": "conformance-resume" };
  for (const replayed of [null, "true"]) {
    const { headers: sent } = await send(resume, { key, headers, body });
    expect(sent.get("idempotent-replayed")).toBe(replayed);
  }
  const reused = await send(resume, { key, headers, body: { session_id: "x" } });
  expect(reused.code).toBe("idempotency_key_reused");
  const rotated = await send(one("rotateApiKey"), { id: record.id, body: { overlapSeconds: 60 } });
  const newest = JSON.parse(rotated.text).apiKey;
  expect((await send(resume, { key: newest, headers, body })).code).toBe("replay_unavailable");
  await send(one("releaseCall"), { key, body });
  expect((await send(resume, { key, body })).code).toBe("session_closed");
};

/** Starts a call with a person, and gives it the id in the example for resuming a call. */
const createCall = async ({ client }: TestDatabase["db"], send: Send): Promise<void> => {
  const { session_id } = JSON.parse((await send(one("startCall"), { body: START })).text);
  const { session_id: id } = EXAMPLES.ResumeCall;
  await client`update fleet.avatar_workers set features = ${[RESUME, TURNS, RECORDING]}`;
  await client`update fleet.avatar_slots set session_id = ${id} where session_id = ${session_id}`;
  await client`update calls set session_id = ${id} where session_id = ${session_id}`;
  await client`
    update usage_sessions set id = ${id}, status = 'started', started_at = created_at,
      expires_at = now() + interval '1 hour' where id = ${session_id}`;
};

/** Expects that a call is refused if its transcript would wait behind too many others. */
const expectManyTranscripts = async ({ client }: TestDatabase["db"], { send }: Callers): Promise<void> => {
  await client`
    insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
    select tenant_id, 'ses_' || lpad(n::text, 26, '0'), 'x', now(), 1
    from avatars, generate_series(1, ${MAX_WAITING_TRANSCRIPTS}) n where avatars.id = ${START.avatar_id}`;
  const transcript_webhook = { url: "https://example.com/", secret: "a secret of the receiver" };
  expect((await send(one("startCall"), { body: { ...START, transcript_webhook } })).code).toBe("quota_exceeded");
  await client`delete from call_transcripts`;
};

/** Expects that a call is recorded, and is refused while no worker records or when an agent speaks. */
const expectRecordings = async (
  { client }: TestDatabase["db"],
  { send, sendToAgent }: Pick<Callers, "send" | "sendToAgent">,
): Promise<void> => {
  const start = one("startCall");
  await client`update fleet.avatar_workers set features = ${[RESUME, TURNS]}`;
  const recorded = { ...START, recording: "audio" };
  expect((await sendToAgent(start, { body: recorded })).code).toBe("recording_unsupported");
  expect((await send(start, { body: recorded })).code).toBe("recording_unavailable");
  await client`update fleet.avatar_workers set features = ${[RESUME, TURNS, RECORDING]}`;
  const { text } = await send(start, { body: recorded });
  expect(JSON.parse(text)).toMatchObject({ recording_mode: "audio", recordings: [{ status: "pending" }] });
};

export const startConformanceCalls = async (database: TestDatabase) => {
  const { client } = database.db;
  const livekit = await startLivekitStandIn();
  const start = one("startCall");

  /** Creates a ready avatar with the id in the examples. */
  const createAvatar = async (send: Send): Promise<void> => {
    const { text } = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
    await client`update avatars set id = ${START.avatar_id}, status = 'ready' where id = ${JSON.parse(text).id}`;
  };
  /** Gives a worker many slots, for an hour. */
  const giveSlots = async (): Promise<void> => {
    const terms = { leaseSeconds: 3600, sessionLeaseSeconds: 60, dailyTokens: null };
    const request = { slots: 1000, features: [TURNS, RECORDING], calls: [] };
    await syncWorker(database.db, "wrk_1", request, terms, operatorOrigin());
  };

  const expectRefusals = async ({ send, sendWithout, sendToAgent, newKey, poor }: Callers): Promise<void> => {
    const { key: capped } = await newKey({ spendLimitCreditMicros: 1 });
    const { key: limited } = await newKey({ maxConcurrentSessions: 1 });
    expect((await send(start, { key: capped, body: START })).code).toBe("spend_limit_exceeded");
    expect((await send(start, { key: poor, body: START })).code).toBe("insufficient_credits");
    expect((await send(start, { key: limited, body: START })).status).toBe(200);
    expect((await send(start, { key: limited, body: START })).code).toBe("concurrency_limit_reached");
    expect((await send(start, { body: { avatar_id: "x" } })).code).toBe("not_found");
    const made = await send(one("createAvatar"), { body: { displayName: "x", sourceKind: "image" } });
    expect((await send(start, { body: { avatar_id: JSON.parse(made.text).id } })).code).toBe("avatar_not_ready");
    expect((await sendWithout(start, { body: START })).code).toBe("realtime_not_configured");
    await expectRecordings(database.db, { send, sendToAgent });
  };

  const expectReplays = async ({ send, newKey }: Callers): Promise<void> => {
    const headers = { "idempotency-key": "conformance" };
    const { record, key } = await newKey();
    const first = await send(start, { key, headers, body: START });
    const again = await send(start, { key, headers, body: START });
    expect([again.text, again.headers.get("idempotent-replayed")]).toEqual([first.text, "true"]);
    expect((await send(start, { key, headers, body: { ...START, mode: "voice" } })).code).toBe(
      "idempotency_key_reused",
    );
    const release = one("releaseCall");
    const body = { session_id: JSON.parse(first.text).session_id };
    for (const replayed of [null, "true"]) {
      const { headers: sent } = await send(release, { key, headers, body });
      expect(sent.get("idempotent-replayed")).toBe(replayed);
    }
    const reused = await send(release, { key, headers, body: { ...body, reason: "manual" } });
    expect(reused.code).toBe("idempotency_key_reused");
    const rotated = await send(one("rotateApiKey"), { id: record.id, body: { overlapSeconds: 60 } });
    const newest = JSON.parse(rotated.text).apiKey;
    expect((await send(start, { key: newest, headers, body: START })).code).toBe("replay_unavailable");
  };

  const expectQueued = async ({ send }: Callers): Promise<void> => {
    await client`update fleet.avatar_workers set lease_until = now() - interval '1 second'`;
    const queued = await send(start, { body: START });
    expect([queued.status, queued.headers.get("content-type")]).toEqual([429, "application/json"]);
    await giveSlots();
  };

  return {
    options: callOptions(livekit),
    prepare: async (send: Send): Promise<void> => {
      await createAvatar(send);
      await giveSlots();
      await createCall(database.db, send);
    },
    /** Causes each documented response of calls that takes more than one request, and checks it. */
    expectResponses: async (callers: Callers): Promise<void> => {
      await expectRefusals(callers);
      await expectReplays(callers);
      await expectPrepared(callers);
      await expectTurns(callers, database.db);
      await expectResumed(database.db, callers);
      await expectManyTranscripts(database.db, callers);
      await expectQueued(callers);
    },
    stop: livekit.stop,
  };
};
