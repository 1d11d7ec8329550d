/** How the server executes the functions of calls: by indexes, in tables of many rows, with plans for any values. */
import { expect, test } from "bun:test";
import type { CommandKind } from "@realtime-avatar/domain/calls/turns";
import { RECORDING, TURNS } from "@realtime-avatar/domain/calls/worker-sync";
import { type ApiKeyId, newId, type SessionId, type TenantId, type TurnId } from "@realtime-avatar/domain/id";
import { callRequest, readyAvatar, report, SYNC_TERMS, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import {
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  insertRecordingRows,
  plansWithoutStatistics,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { newClaim, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { auditEvent } from "../audit/audit-events.ts";
import { changeTenantSettings } from "../tenants/settings.ts";
import { attachAgent, confirmRoom, failCall, openCall, releaseCall } from "./calls.ts";
import { addObservations, findConnectionHistory, sweepConnectionHistories } from "./connection-histories.ts";
import { findCallFile, listWorkersWithWork } from "./fleet.ts";
import { findPreloadOwner, preloadAvatar } from "./preloads.ts";
import {
  compareRooms,
  endDueCalls,
  endLostCall,
  expireWorkers,
  listRoomsToDelete,
  markRoomsGone,
} from "./reconcile.ts";
import { findCallToResume, resumeCall } from "./resume.ts";
import {
  claimTranscripts,
  deleteKeptTranscript,
  findKeptTranscript,
  finishTranscript,
  sweepKeptTranscripts,
  writeTranscript,
} from "./transcripts.ts";
import { createTurn, findTurn } from "./turns.ts";

const ROWS = 5000;
const OPEN = 600;

const database = await fileDatabase();
const { db, plans, explain } = await explainedSession(database.url);
const tenantId = await seedTenant(db, { live: 1_000_000_000 });
const { caller, record } = await seedCaller(db, tenantId);
const child = (await seedCaller(db, tenantId, {}, record)).caller;
const avatarId = await readyAvatar(db, child);
await database.db.client.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  insert into api_key_meters select '${tenantId}', ${rowId("key")}, 0, 1000, 1 from generate_series(1, ${ROWS}) i;
  insert into credit_accounts (tenant_id, environment, granted, updated_at) select ${rowId("ten")}, 'live', 0, now()
    from generate_series(1, ${ROWS}) i;
  insert into usage_sessions (tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata, created_at,
      started_at, ended_at, expires_at, is_counted)
    select '${tenantId}', ${rowId("ses")}, 'live', ${rowId("key")}, array[${rowId("key")}], '${avatarId}',
      case when i <= ${OPEN} then 'started' else 'released' end, 1000, 1, '{}', now(), now(),
      case when i > ${OPEN} then now() end, now() + interval '1 hour', i <= ${OPEN} from generate_series(1, ${ROWS}) i;
  insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
    select '${tenantId}', ${rowId("ses")}, 'r', case when i <= ${OPEN} then 'exists' else 'gone' end, 'voice', '{}', 1
    from generate_series(1, ${ROWS}) i;
  insert into call_agents select '${tenantId}', ${rowId("ses")}, now(), 'wss://x', 'x', sha256(i::text::bytea), 'x'
    from generate_series(1, ${ROWS}) i;
  insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
    select '${tenantId}', ${rowId("ses")}, 'x', now() + interval '1 hour', i % 2 from generate_series(1, ${ROWS}) i;
  ${insertRecordingRows(tenantId, ROWS)}
  insert into connection_histories (tenant_id, session_id, updated_at)
    select '${tenantId}', ${rowId("ses")}, now() from generate_series(1, ${ROWS}) i;
  insert into call_segments select '${tenantId}', ${rowId("ses")}, 1, n, 'x' from generate_series(1, ${ROWS}) i, generate_series(0, 3) n;
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body,
      created_at)
    select '${tenantId}', '${child.id}', 'POST /start', i::text, ${rowId("ent")}, sha256('x'), 200, '1', 'x', now()
    from generate_series(1, ${ROWS}) i;
  insert into call_tickets (tenant_id, id, api_key_id, fingerprint, turn, polled_at)
    select ${rowId("ten")}, ${rowId("tkt")}, 'key', 'x', i, now() + interval '1 hour' from generate_series(1, ${OPEN}) i;
  insert into call_turns (tenant_id, id, session_id, number, kind, text, interrupts, status, created_at, ended_at)
    select '${tenantId}', ${rowId("trn")}, ${rowId("ses")}, 1, 'say', case when i <= 20 then 'x' end, true,
      case when i <= 20 then 'queued' else 'said' end, now(), case when i > 20 then now() end
    from generate_series(1, ${ROWS}) i;
  insert into fleet.avatar_workers select 'worker ' || i, '{${TURNS},${RECORDING}}', 4, now() + interval '1 hour' from generate_series(1, ${OPEN}) i;
  insert into fleet.avatar_slots (worker_id, n, tenant_id, session_id)
    select 'worker ' || i, n, case when n = 1 then '${tenantId}' end, case when n = 1 then ${rowId("ses")} end
    from generate_series(1, ${OPEN}) i, generate_series(1, 4) n;
  insert into tenant_settings
    select ${rowId("ten")}, 'live', i % 2 = 0, now() from generate_series(1, ${ROWS}) i;
  insert into conversation_usage
    select ${rowId("ten")}, 'live', date '2026-01-01' + i, 1, 1, 0, 1, 1 from generate_series(1, ${ROWS}) i;
  insert into fleet.avatar_preloads
    select ${rowId("ten")}, 'live', ${rowId("aud")}, ${rowId("ava")}, 'worker ' || i % ${OPEN}, now() + interval '1 hour', i % 100 = 0
    from generate_series(1, ${ROWS}) i;
  insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, cache_version, settings, metadata,
    version, created_at, updated_at)
    select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'ready', 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  update credit_accounts set reserved = 1000000, open_sessions = ${OPEN} where tenant_id = '${tenantId}' and environment = 'live';
  update credit_accounts set max_concurrent_sessions = ${ROWS} where tenant_id = '${tenantId}';
  ${insertEndpointRows(ROWS)}
  analyze`);
await explain();

const session = (at: number) => `ses_01h455vb4p${String(at).padStart(16, "0")}` as SessionId;
const turn = (at: number) => `trn_01h455vb4p${String(at).padStart(16, "0")}` as TurnId;
/** A turn, or an interruption, of the caller in one of its calls. */
const sayTo = async (sessionId: SessionId, kind: CommandKind) => {
  await database.db.client`update usage_sessions set lineage = array[${child.id}] where id = ${sessionId}`;
  await database.db.client`delete from call_agents where session_id = ${sessionId}`;
  const origin = operatorOrigin();
  const id = newId("trn", origin.now, origin.random);
  const text = kind === "interrupt" ? null : "x";
  return createTurn(
    db,
    { id, sessionId, kind, text, instructions: null, interrupt: true },
    child,
    origin,
    newClaim(id),
  );
};
const rowCaller = (at: number) => ({ ...child, id: `key_01h455vb4p${String(at).padStart(16, "0")}` as ApiKeyId });
const request = () => callRequest(child, avatarId);
const started = async (): Promise<SessionId> => {
  const one = request();
  const { kind } = await openCall(db, one, child, { ...newClaim(one.id), request: "POST /start" });
  expect(kind).toBe("written");
  return one.id;
};

/** Tables that may be read whole: small tables, and tables of which all rows are needed. */
const SMALL = /Seq Scan on (avatar_workers|avatar_slots|call_tickets|call_agents agent)\b/;

/** A start with a voice that one worker has. The worker reports usage. */
const startedWithVoice = async (): Promise<void> => {
  const catalog = { voices: ["voice"], models: [] };
  const usage = { input_tokens: 1, output_tokens: 1, estimated_tokens: 0, heard_seconds: 1, spoken_characters: 1 };
  const calls = [report(session(7), "started", 1, { usage })];
  const terms = { ...SYNC_TERMS, dailyTokens: 100 };
  await sync(db, "worker 7", { slots: 4, features: ["conversation"], catalog, calls }, terms);
  const one = { ...request(), conversation: { price: 1, voiceId: "voice", model: null } };
  expect((await openCall(db, one, child, null)).kind).toBe("written");
};

test.each([
  ["a start", started],
  ["a report of usage, and a start that names a voice", startedWithVoice],
  ["a replay", async () => void (await openCall(db, request(), child, { ...newClaim("r"), request: "POST /start" }))],
  ["the confirmation of a room", async () => void (await confirmRoom(db, tenantId, await started(), "r"))],
  ["the look-up of a call to resume", async () => findCallToResume(db, child, session(11))],
  [
    "a resumed call",
    async () => {
      const next = { sessionId: session(11), roomNumber: 2, roomName: "r2" };
      expect((await resumeCall(db, next, child, newClaim("resume"))).kind).toBe("stale");
    },
  ],
  [
    "the failure of a room",
    async () => failCall(db, tenantId, await started(), newClaim("f"), child, operatorOrigin()),
  ],
  [
    "a release",
    async () => {
      const target = { kind: "session", id: await started() } as const;
      await releaseCall(db, target, { reason: null }, caller, operatorOrigin(), newClaim("release"));
    },
  ],
  [
    "the release of a ticket",
    async () => releaseCall(db, { kind: "ticket", id: "tkt_x" }, { reason: null }, caller, operatorOrigin(), null),
  ],
  ["a sync", async () => sync(db, "worker 1", { slots: 4, calls: [report(session(1)), report(session(2))] })],
  ["a sync that ends a call", async () => sync(db, "worker 3", { slots: 4, calls: [report(session(3), "ended", 3)] })],
  [
    "a sync with turns",
    async () => {
      const turns = [{ turn_id: turn(2), status: "said" as const, heard: "x" }];
      const reported = [report(session(2), "started", 1, { turns })];
      expect((await sync(db, "worker 2", { slots: 4, features: [TURNS], calls: reported })).turns).toEqual([]);
      const calls = [report(session(4))];
      expect((await sync(db, "worker 4", { slots: 4, features: [TURNS], calls })).turns).toHaveLength(1);
    },
  ],
  ["a turn", async () => expect(await sayTo(session(6), "say")).toEqual({ kind: "written" })],
  ["an interruption", async () => expect(await sayTo(session(6), "interrupt")).toEqual({ kind: "written" })],
  ["a turn that is read", async () => expect(await findTurn(db, rowCaller(11), turn(11))).not.toBeNull()],
  ["the workers with work", async () => listWorkersWithWork(db, ["worker 1", "worker 2"])],
  ["a preload", async () => preloadAvatar(db, avatarId, child, operatorOrigin(), newClaim("preload"))],
  ["a file of a preload", async () => findPreloadOwner(db, "worker 1", avatarId)],
  ["a file of a call", async () => findCallFile(db, "worker 1", session(1))],
  [
    "a lost worker",
    async () => {
      await database.db
        .client`update fleet.avatar_workers set lease_until = now() - interval '1 second' where id = 'worker 5'`;
      expect((await expireWorkers(db, operatorOrigin())).moved).toBeGreaterThan(0);
    },
  ],
  [
    "calls that must end",
    async () => {
      await database.db.client`update usage_sessions set must_end = true where id = ${session(7)}`;
      await database.db
        .client`update calls set has_history = true where session_id in (${session(7)}, ${session(OPEN + 9)})`;
      expect((await endDueCalls(db, 10, operatorOrigin())).ended).toBe(1);
    },
  ],
  [
    "segments of a transcript",
    async () => {
      const reported = {
        workerId: "worker 11",
        sessionId: session(11),
        generation: 1,
        first: 0,
        isComplete: true,
        speaking: null,
      };
      await database.db.client`update call_transcripts set attempt_count = 0 where session_id = ${session(11)}`;
      expect(await writeTranscript(db, { ...reported, segments: Array(5).fill(Buffer.from("x")) })).toBe(5);
    },
  ],
  [
    "transcripts that are due",
    async () => {
      await database.db.client`update call_transcripts set due_at = now() where session_id = ${session(OPEN + 1)}`;
      const claim = { lease: "one", leaseSeconds: 60, after: "", limit: 16, perTenant: 4, busyTenants: [] };
      const [claimed] = await claimTranscripts(db, claim);
      expect(claimed?.sessionId).toBe(session(OPEN + 1));
      const ended = { lease: "one", delayMs: null, isAttempt: true };
      expect(await finishTranscript(db, claimed as NonNullable<typeof claimed>, ended)).toBe(true);
    },
  ],
  [
    "the deletion of a kept transcript",
    async () => {
      await database.db.client`update call_transcripts set is_kept = true where session_id = ${session(12)}`;
      expect(await deleteKeptTranscript(db, session(12), child, { ...operatorOrigin(), actor: child })).toEqual({
        kind: "written",
      });
    },
  ],
  [
    "kept transcripts that are too old",
    async () => {
      await database.db.client`
        update call_transcripts set is_kept = true, receiver = null, ended_at = now() - interval '1 day' where session_id = ${session(13)}`;
      expect(await sweepKeptTranscripts(db, new Date(Date.now() - 3600_000), 100)).toBe(1);
    },
  ],
  [
    "an upload of a connection history",
    async () => expect(await addObservations(db, { tenantId, sessionId: session(9) }, [])).toBe(true),
  ],
  ["a connection history", async () => expect(await findConnectionHistory(db, child, session(9), 30)).toEqual([])],
  [
    "connection histories that are too old",
    async () => {
      await database.db.client`
        update connection_histories set updated_at = now() - interval '1 day' where session_id = ${session(13)}`;
      expect(await sweepConnectionHistories(db, new Date(Date.now() - 3600_000), 100)).toBe(1);
    },
  ],
  ["a kept transcript", async () => expect(await findKeptTranscript(db, child, session(14))).not.toBeNull()],
  [
    "a change of the settings",
    async () => {
      const { tenantId, environment } = child;
      const change = { tenantId, environment, keepsTranscripts: true, versions: null };
      const event = auditEvent(
        "settings.updated",
        { tenantId, environment, id: tenantId },
        { ...operatorOrigin(), actor: child },
      );
      expect(await changeTenantSettings(db, change, child, event)).toMatchObject({ kind: "written" });
    },
  ],
  ["a lost call", async () => endLostCall(db, tenantId, session(8), "failed", operatorOrigin())],
  ["the rooms to delete", async () => listRoomsToDelete(db, 10)],
  ["rooms that are gone", async () => markRoomsGone(db, [{ tenantId: tenantId as TenantId, sessionId: session(8) }])],
  [
    "the differences of rooms and calls",
    async () => {
      const { stray, missing } = await compareRooms(db, "rta-", ["rta-x"]);
      expect(stray).toEqual(["rta-x"]);
      expect(missing.length).toBeGreaterThan(0);
    },
  ],
] as [string, () => Promise<unknown>][])("the function for %s, explained: reads no whole table", async (_, work) => {
  plans.length = 0;
  await work();
  expect(plans.length).toBeGreaterThan(0);
  expect(plans.filter((plan) => plan.replaceAll(new RegExp(SMALL, "g"), "").includes("Seq Scan"))).toEqual([]);
  for (const [, index = "", condition] of plans.join("\n").matchAll(/using (\w+) on .*\n +Index Cond: (.*)/g)) {
    // Each index is read by the tenant, except for look-ups of a credential, of a call by its session, of transcripts
    // that are due soon, and of old rows.
    const isBefore =
      /^(api_key_credentials_pkey|avatar_\w+|calls_session_index|call_turns_(open|ended)_index|call_transcripts_(due|kept)_index|connection_histories_age_index|pg_\w+)$/.test(
        index,
      );
    if (!isBefore) expect(`${index} ${condition}`).toContain("tenant_id");
  }
});

test.each([
  ["the confirmation of a room", async () => confirmRoom(db, tenantId, await started(), "r")],
  ["the look-up of a call to resume", async () => findCallToResume(db, child, session(11))],
  [
    "a resumed call",
    async () =>
      resumeCall(db, { sessionId: session(11), roomNumber: 2, roomName: "r2" }, child, newClaim("few resume")),
  ],
  [
    "the failure of a room",
    async () => failCall(db, tenantId, await started(), newClaim("few f"), child, operatorOrigin()),
  ],
  [
    "a release",
    async () => {
      const target = { kind: "session", id: await started() } as const;
      await releaseCall(db, target, { reason: null }, caller, operatorOrigin(), newClaim("few release"));
    },
  ],
  ["a sync", async () => sync(db, "worker 1", { slots: 4, calls: [report(session(1)), report(session(2))] })],
  ["a lost call", async () => endLostCall(db, tenantId, session(9), "failed", operatorOrigin())],
  [
    "an agent",
    async () => {
      const brought = { url: "wss://x", token: Buffer.from("t"), digest: Buffer.alloc(32), agentIdentity: "agent" };
      expect(await attachAgent(db, { tenantId, sessionId: session(10) }, avatarId, brought)).toBe("other");
    },
  ],
] as [string, () => Promise<unknown>][])(
  "the function for %s, explained without statistics: does not read all open sessions of the tenant",
  async (_, work) => {
    const all = await plansWithoutStatistics({ db, plans }, "usage_sessions", work);
    expect(all).not.toContain("usage_sessions_tenant_sweep_index");
  },
);
