/**
 * Random histories of calls by many clients at once, on the pools of three replicas: programs that start, confirm,
 * fail, resume and release; holds that grow; agents that bring rooms and avatars; workers that join, report, leave, and
 * are lost; the passes of the reconciler; keys that are revoked. Afterwards each call is closed once, the charges are
 * exact, and the slots in use are those of the open calls. `LONG=1` runs many more.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import { roomToResumeIn } from "@realtime-avatar/domain/calls/resume";
import { roomName, sessionOfRoom } from "@realtime-avatar/domain/calls/room";
import { CONVERSATION, GROWTH, RESUME, type ReportedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { SessionId, TenantId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { callRequest, readyAvatar, report, sync } from "@realtime-avatar/testing/calls/calls";
import { seedCaller } from "@realtime-avatar/testing/credits";
import { connectTo } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { type Numbers, numbersOf } from "@realtime-avatar/testing/random-numbers";
import { newClaim, operatorOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { seedEndpoint } from "@realtime-avatar/testing/webhooks/events";
import type { Db } from "../connection/pool.ts";
import { findCreditDrift, listKeysAboveCap } from "../credits/invariants.ts";
import { releaseSession, sweepSessions } from "../credits/usage-sessions.ts";
import { attachAgent, type BroughtRoom, confirmRoom, failCall, openCall, releaseCall } from "./calls.ts";
import {
  compareRooms,
  endDueCalls,
  endLostCall,
  expireWorkers,
  growHolds,
  listRoomsToDelete,
  markRoomsGone,
} from "./reconcile.ts";
import { findCallToResume, resumeCall } from "./resume.ts";

const isLong = process.env["LONG"] === "1";
const [ROUNDS, OPERATIONS] = isLong ? [50, 6000] : [1, 1000];
const database = await fileDatabase();
const { client } = database.db;
const pools = await Promise.all(
  [1, 2, 3].map(() => fixture(connectTo(database, { connections: 4, deadlineMs: 60_000 }))),
);

setDefaultTimeout(isLong ? 3_600_000 : 300_000);

/** The limits of open sessions of the tenants: one limit is reached before all slots are in use, the other is not. */
const LIMITS = [3, 10];
/** The limit of open calls of one key of the second tenant, below that of its tenant. */
const KEY_LIMIT = 2;
/** The cap of its spent and held credits. */
const KEY_CAP = 2500;
const SLOTS = 4;
/**
 * Calls are very short here, so holds grow from the start. A step exceeds the rest of a tenant's balance at the end.
 */
const GROWTH_TERMS = { aheadSeconds: 400, lastSeconds: 2, stepSeconds: 90, leastSeconds: 30 };
/**
 * Each tenant has a limit, a key, and a child key. The child of the first tenant is revoked at some time; the child of
 * the second has a limit.
 */
const seedTenants = () =>
  Promise.all(
    LIMITS.map(async (limit, at) => {
      const tenantId = await seedTenant(database.db, { live: 6_000 });
      await client`update credit_accounts set max_concurrent_sessions = ${limit} where tenant_id = ${tenantId}`;
      const root = await seedCaller(database.db, tenantId);
      const keyLimit = at === 1 ? { maxConcurrentSessions: KEY_LIMIT, spendLimitCreditMicros: KEY_CAP } : {};
      const child = await seedCaller(database.db, tenantId, keyLimit, root.record);
      const avatarId = await readyAvatar(database.db, root.caller);
      await seedEndpoint(database.db, tenantId, { events: ["usage_session.*"] });
      return { tenantId, limit, callers: [root.caller, child.caller] as const, avatarId };
    }),
  );
type Tenant = Awaited<ReturnType<typeof seedTenants>>[number];

/** The shared state of all clients of a round. */
type Round = {
  tenants: Tenant[];
  sessions: { tenant: Tenant; id: SessionId }[];
  /** The rooms that LiveKit has. */
  rooms: Set<string>;
  /** The charge of each call that its worker has ended. */
  charged: Map<string, number>;
  outcomes: Map<string, number>;
  left: number;
};
const note = (round: Round, name: string): void => {
  round.outcomes.set(name, (round.outcomes.get(name) ?? 0) + 1);
};

/** The outcomes that a history must contain. The last two are rare, so a short history can lack them. */
const REQUIRED = [
  "written",
  "agent attached",
  "a conversation",
  "queued",
  "concurrency_limit_reached of self",
  "concurrency_limit_reached of tenant",
  "ended by its worker",
  "lost worker",
  "resumed",
  "moved to its next room",
  "a hold grown",
  "grown at its worker",
  ...(isLong ? ["moved", "same"] : []),
];
/** Counts an operation. A history that lacks a required outcome at its end is extended. */
const goesOn = (round: Round): boolean =>
  round.left-- > 0 || (round.left > -4 * OPERATIONS && REQUIRED.some((outcome) => !round.outcomes.has(outcome)));

/** The room that an agent brings, with one of a few tokens. */
const broughtBy = (owner: string, token: number): BroughtRoom => {
  const digest = createHash("sha256").update(`${owner} ${token}`).digest();
  return { url: "wss://x", token: Buffer.from("sealed"), digest, agentIdentity: "agent" };
};

/** The person of a call joins again: its next room is created, or not, and confirmed. */
const resume = async (db: Db, round: Round, below: Numbers, caller: Tenant["callers"][0]) => {
  // Chooses a call that has begun, because few calls have.
  const begun = await client<{ id: SessionId }[]>`
    select id from usage_sessions
    where tenant_id = ${caller.tenantId} and ended_at is null and started_at is not null order by id`;
  const { id } = begun[below(Math.max(1, begun.length))] ?? {};
  const call = id === undefined ? null : await findCallToResume(db, caller, id);
  if (id === undefined || call === null) return;
  try {
    const roomNumber = roomToResumeIn(call);
    const next = { sessionId: id, roomNumber, roomName: roomName("test", id, roomNumber) };
    const claim = below(2) === 0 ? { ...newClaim(`${below(1000)}`), request: "POST /resume" } : null;
    if ((await resumeCall(db, next, caller, claim)).kind !== "written") return;
    note(round, "resumed");
    if (below(4) === 0) return;
    round.rooms.add(next.roomName);
    note(round, `next room ${await confirmRoom(db, caller.tenantId, id, next.roomName)}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    note(round, error.code);
  }
};

/** A program of a tenant: starts calls, confirms or fails their rooms, resumes and releases some. */
const runProgram = async (db: Db, round: Round, below: Numbers): Promise<void> => {
  while (goesOn(round)) {
    const tenant = round.tenants[below(2)] as Tenant;
    const caller = tenant.callers[below(2)] as Tenant["callers"][0];
    const known = round.sessions[round.sessions.length - 1 - below(20)];
    if (below(3) > 0) {
      const agent = (["none", "none", "in its own room", "awaited"] as const)[below(4)];
      const request = callRequest(caller, tenant.avatarId, {
        ...{ metadata: { user: `${below(3)}` }, awaitsAgent: agent === "awaited" },
        // At a worker that holds conversations, such a call costs three times as much.
        conversation: agent === "none" ? { price: 3, voiceId: below(6) === 0 ? "a-voice" : null, model: null } : null,
        brought: agent === "in its own room" ? broughtBy(caller.id, below(3)) : null,
        growth: below(2) === 0 ? { longestSeconds: 2000, defaultLimit: 2000 } : null,
      });
      const claim = below(2) === 0 ? { ...newClaim(`${below(1000)}`), request: "POST /start" } : null;
      const outcome = await openCall(db, request, caller, claim);
      note(round, "limitedBy" in outcome ? `${outcome.kind} of ${outcome.limitedBy}` : outcome.kind);
      if (outcome.kind !== "written") continue;
      if (outcome.responseFields.priceCreditMicrosPerSecond !== 1) note(round, "a conversation");
      round.sessions.push({ tenant, id: request.id });
      if (agent === "awaited" && below(4) > 0) {
        const call = { tenantId: tenant.tenantId, sessionId: request.id };
        note(round, `agent ${await attachAgent(db, call, tenant.avatarId, broughtBy(request.id, 0))}`);
      }
      // Without a response of LiveKit, the room may exist. The room of an agent is not ours.
      const isCreated = below(5) > 0;
      if (agent !== "in its own room" && (isCreated || below(2) === 0)) round.rooms.add(request.roomName);
      if (isCreated) note(round, `room ${await confirmRoom(db, tenant.tenantId, request.id, request.roomName)}`);
      if (below(5) === 0) await failCall(db, tenant.tenantId, request.id, claim, caller, operatorOrigin());
    } else if (below(2) > 0) {
      await resume(db, round, below, caller);
    } else if (known && below(4) > 0) {
      const target = { kind: "session", id: known.id } as const;
      const reason = below(2) === 0 ? "page_hide" : null;
      await releaseCall(db, target, { reason }, caller, operatorOrigin(), null);
    } else if (known) {
      const release = { isEngine: below(2) === 0, used: below(200), reason: null };
      await releaseSession(db, known.id, release, caller, operatorOrigin());
    }
  }
};

/** The worker that holds conversations. */
const TALKER = "worker-10";

/** A worker: runs its calls, uses a few seconds between two syncs, and is lost from time to time. */
const runWorker = async (db: Db, id: string, round: Round, below: Numbers): Promise<void> => {
  let calls = new Map<string, ReportedCall>();
  while (goesOn(round)) {
    for (const [key, call] of calls) {
      if (call.state === "ended") continue;
      // The person leaves and comes back from time to time.
      const isAway = call.state === "started" && below(4) === 0;
      const state = !isAway && (call.state === "started" || below(3) === 0) ? "started" : "joined";
      const most = call.growth?.max_seconds ?? 100;
      const used_seconds = state === "started" ? Math.min(most, call.used_seconds + 1 + below(30)) : call.used_seconds;
      const ends = below(8) === 0 || used_seconds === most;
      const { room_number = 1, gap_count = 0, gap_seconds = 0 } = call.resume ?? {};
      const gaps = { gap_count: gap_count + (isAway ? 1 : 0), gap_seconds: gap_seconds + (state === "joined" ? 1 : 0) };
      const tokens = { input_tokens: 7 * used_seconds, output_tokens: used_seconds, estimated_tokens: 0 };
      const usage = { ...tokens, heard_seconds: used_seconds, spoken_characters: used_seconds };
      const resumed = { ...call, used_seconds, usage, resume: { room_number, ...gaps } };
      calls.set(key, { ...resumed, ...(ends ? { state: "ended", reason: "idle" } : { state }) });
    }
    const listed = [...calls.values()];
    const talks =
      id === TALKER ? { features: [CONVERSATION, RESUME, GROWTH], catalog: { voices: ["a-voice"], models: [] } } : {};
    const answer = await sync(db, id, { slots: SLOTS, features: ["echo", RESUME, GROWTH], calls: listed, ...talks });
    for (const name of answer.rooms) {
      const session = sessionOfRoom(String(name));
      round.charged.set(session, calls.get(session)?.used_seconds ?? -1);
      note(round, "ended by its worker");
    }
    for (const { session_id, state } of listed) if (state === "ended") calls.delete(session_id);
    for (const { sessionId } of answer.end) calls.delete(sessionId);
    for (const { sessionId, maxSeconds: max_seconds } of answer.grow) {
      note(round, "grown at its worker");
      const call = calls.get(sessionId);
      if (call) calls.set(sessionId, { ...call, growth: { max_seconds } });
    }
    for (const { sessionId, roomNumber } of answer.move) {
      note(round, "moved to its next room");
      const call = calls.get(sessionId);
      if (call?.resume) calls.set(sessionId, { ...call, resume: { ...call.resume, room_number: roomNumber } });
    }
    for (const {
      sessionId,
      generation,
      usedSeconds,
      roomNumber,
      gapCount,
      gapSeconds,
      maxSeconds: max_seconds,
    } of answer.start) {
      const resume = { room_number: roomNumber, gap_count: gapCount, gap_seconds: gapSeconds };
      calls.set(sessionId, {
        ...report(sessionId, "joining", usedSeconds),
        generation,
        resume,
        growth: { max_seconds },
      });
    }
    if (below(20) > 0) continue;
    note(round, "lost worker");
    // The worker comes back without its calls, or with its old calls.
    if (below(2) === 0) calls = new Map();
    // Found lost a second after its last sync, or at the end of its lease.
    const syncedAt = below(2) === 0 ? 1 : 16;
    await client`
      update fleet.avatar_workers set lease_until = now() - interval '1 second',
        synced_at = now() - make_interval(secs => ${syncedAt})
      where id = ${id}`;
  }
};

/** Deletes the rooms that the reconciler finds: those of ended calls, and those without an open call. */
const deleteRooms = async (db: Db, { rooms }: Round): Promise<void> => {
  const ended = await listRoomsToDelete(db, 10);
  for (const { roomName } of ended) rooms.delete(roomName);
  const { stray } = await compareRooms(db, "rta-test-", [...rooms]);
  for (const name of stray) rooms.delete(name);
  await markRoomsGone(db, ended);
};

/** The passes of a worker process of the service. */
const runReconciler = async (db: Db, round: Round, below: Numbers): Promise<void> => {
  while (goesOn(round)) {
    const grown = await growHolds(db, 3, operatorOrigin(), GROWTH_TERMS);
    for (let call = 0; call < grown; call++) note(round, "a hold grown");
    await endDueCalls(db, 10, operatorOrigin());
    const { moved, ended } = await expireWorkers(db, operatorOrigin());
    for (let call = 0; call < moved; call++) note(round, "moved");
    for (let call = 0; call < ended; call++) note(round, "ended without a worker");
    const known = round.sessions[below(Math.max(1, round.sessions.length))];
    switch (below(3)) {
      case 0:
        await deleteRooms(db, round);
        break;
      case 1:
        // The person has not joined in time, or no worker has reported.
        await client`
          update usage_sessions set expires_at = now() where id = ${known?.id ?? ""} and ended_at is null`;
        await sweepSessions(db, null, operatorOrigin());
        // Deletes the tickets, because the waiting requests have ended. Otherwise slots would be reserved for them for
        // seconds, and a quick history would have few calls.
        await client`
          update call_tickets set polled_at = polled_at - interval '1 minute'
          where id in (select id from call_tickets for update skip locked)`;
        break;
      default:
        if (known && below(2) === 0) await endLostCall(db, known.tenant.tenantId, known.id, "failed", operatorOrigin());
    }
    for (const { tenantId, limit } of round.tenants) {
      const [row] = await client`
        select (select count(*)::integer from fleet.avatar_slots where tenant_id = ${tenantId}) as slots, open_sessions::integer as open
        from credit_accounts where tenant_id = ${tenantId} and environment = 'live'`;
      expect(row?.["open"]).toBeLessThanOrEqual(limit);
      expect(row?.["slots"]).toBe(row?.["open"]);
    }
    const [meter] = await client`
      select open_sessions::integer as open from api_key_meters where api_key_id = ${round.tenants[1]?.callers[1].id ?? ""}`;
    expect(meter?.["open"] ?? 0).toBeLessThanOrEqual(KEY_LIMIT);
    expect(await listKeysAboveCap(db, (round.tenants[1] as Tenant).tenantId)).toEqual([]);
  }
};

type Ended = {
  id: SessionId;
  held: number;
  used: number;
  clock: number;
  reported: number;
  reason: string;
  by: string;
  price: number;
};
const check = async (round: Round, tenantId: TenantId): Promise<void> => {
  expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
  // The sums of the tenant are those of its calls.
  const [used] = await client`
    select (select coalesce(sum(input_tokens + output_tokens), 0)::integer from calls where tenant_id = ${tenantId}) as calls,
      (select coalesce(sum(input_tokens + output_tokens), 0)::integer from conversation_usage where tenant_id = ${tenantId}) as sums`;
  expect(used?.["sums"]).toBe(used?.["calls"]);
  expect(used?.["calls"]).toBeGreaterThan(0);
  // Each transition of each call has sent one event, in the order of the transitions.
  const untold = await client`
    select session.id, session.status, array_agg(type order by sequence) as types
    from usage_sessions session left join webhook_events event on event.tenant_id = session.tenant_id and target_id = session.id
    where session.tenant_id = ${tenantId}
    group by session.tenant_id, session.id having array_agg(split_part(type, '.', 2) order by sequence) is distinct from
      array_remove(array['opened', case when started_at is not null then 'started' end,
        case when ended_at is not null then 'ended' end], null)`;
  expect([...untold]).toEqual([]);
  const ended = await client<Ended[]>`
    select id, price::integer, session.reserved::integer as held, used::integer, reported::integer, session.reason, closed_by as by,
      (price * coalesce(ceil(extract(epoch from ended_at - counts_from)), 0))::integer as clock
    from usage_sessions session join calls on calls.tenant_id = session.tenant_id and session_id = id
    where session.tenant_id = ${tenantId} and ended_at is not null`;
  for (const { id, held, used, clock, reported, by, reason, price } of ended) {
    const byWorker = round.charged.get(id);
    if (byWorker !== undefined) expect([id, used]).toEqual([id, Math.min(held, price * byWorker)]);
    // A lost worker: the reported usage, or the seconds until its last sync.
    else if (by === "sweep" && reason === "failed") {
      expect([id, used]).toEqual([id, Math.max(reported, used)]);
      expect(used).toBeLessThanOrEqual(Math.min(held, Math.max(reported, clock + price)));
    }
    // An expired lease or a lost room: the reported usage.
    else if (by === "sweep" && reason !== "user_ended" && reason !== "key_ended")
      expect([id, used]).toEqual([id, reported]);
    else
      expect([
        Math.min(held, Math.max(reported, clock)),
        Math.min(held, Math.max(reported, clock + price)),
        reported,
      ]).toContain(used);
  }
};

test("three replicas, random operations: each call closed once, exact charges, no slot lost", async () => {
  const seen = new Map<string, number>();
  for (let at = 0; at < ROUNDS; at++) {
    await client`delete from fleet.avatar_workers`;
    await client`delete from fleet.avatar_slots`;
    const round: Round = {
      ...{ tenants: await seedTenants(), sessions: [], rooms: new Set(), charged: new Map() },
      ...{ outcomes: seen, left: OPERATIONS },
    };
    const numbers = (client: number) => numbersOf(1 + at * 100 + client);
    const pool = (client: number) => pools[client % pools.length] as Db;
    const revoke = async () => {
      await until(() => round.left <= OPERATIONS / 4, { pollMs: 5 });
      await client`
        update api_keys set revoked_at = now(), version = version + 1 where id = ${round.tenants[0]?.callers[1].id ?? ""}`;
    };
    await Promise.all([
      revoke(),
      ...[0, 1, 2, 3, 4, 5].map((one) => runProgram(pool(one), round, numbers(one))),
      ...[10, 11, 12].map((one) => runWorker(pool(one), `worker-${one}`, round, numbers(one))),
      ...[20, 21].map((one) => runReconciler(pool(one), round, numbers(one))),
    ]);
    // One pass. Then every room has an open call, and no room of an open call was deleted.
    await deleteRooms(database.db, round);
    const open = await client<{ name: string; room: string }[]>`
      select room_name as name, room from calls
      join usage_sessions session on session.tenant_id = calls.tenant_id and session.id = session_id
      where ended_at is null`;
    expect([...round.rooms].filter((room) => !open.some(({ name }) => name === room))).toEqual([]);
    expect(open.filter(({ name, room }) => room === "exists" && !round.rooms.has(name))).toEqual([]);
    // The remaining calls end when their keys are revoked.
    await client`update api_keys set revoked_at = now(), version = version + 1 where revoked_at is null`;
    await endDueCalls(database.db, 100, operatorOrigin());
    await sweepSessions(database.db, null, operatorOrigin());
    await deleteRooms(database.db, round);
    expect([...round.rooms]).toEqual([]);
    expect(await compareRooms(database.db, "rta-test-", [])).toEqual({ stray: [], missing: [] });
    expect(await client`select 1 from fleet.avatar_slots where session_id is not null`).toHaveLength(0);
    expect(await client`select 1 from call_agents`).toHaveLength(0);
    for (const { tenantId } of round.tenants) await check(round, tenantId);
  }
  if (isLong) process.stdout.write(`${JSON.stringify(Object.fromEntries([...seen].sort()))}\n`);
  for (const outcome of REQUIRED) {
    expect([outcome, (seen.get(outcome) ?? 0) > 0]).toEqual([outcome, true]);
  }
});
