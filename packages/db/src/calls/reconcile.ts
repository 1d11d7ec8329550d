/** The pass of the reconciler over calls: ends calls that must end, moves calls of lost workers, and compares rooms. */
import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import { HOLD_GROWTH } from "@realtime-avatar/domain/calls/limits";
import type { SessionEndReason } from "@realtime-avatar/domain/credits/status";
import { newId, type SessionId, type TenantId } from "@realtime-avatar/domain/id";
import { sql } from "drizzle-orm";
import {
  endDueCalls as callEndDue,
  endLostCall as callEndLost,
  expireWorkers as callExpire,
  growHolds as callGrow,
} from "../../generated/functions.ts";
import type { Origin } from "../audit/audit-events.ts";
import type { Runner } from "../connection/batch.ts";
import { statement } from "../query/statement.ts";
import { avatarSlots, avatarWorkers, callAgents, calls, callTickets, isWaiting, service } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";

type CallId = { tenantId: TenantId; sessionId: SessionId };

/** The ids of the entries that the end of `count` sessions writes. */
const entryIdsOf = (count: number, { now, random }: Origin): string[] =>
  Array.from({ length: 2 * count }, () => newId("ent", now, random));

/** `rooms`: the rooms of the calls that have ended now, which must be deleted. */
export type EndedCalls = { ended: number; rooms: string[] };

/** Ends at most `limit` calls that must end. One statement. */
export const endDueCalls = async (db: Runner, limit: number, origin: Origin): Promise<EndedCalls> => {
  const [row] = await callEndDue(db, { entryIds: entryIdsOf(limit, origin), requestId: origin.requestId });
  return { ended: row?.ended ?? 0, rooms: row?.rooms ?? [] };
};

/**
 * Grows the holds of at most `limit` calls that go on for longer than their hold. Returns how many have grown. One
 * statement.
 */
export const growHolds = async (
  db: Runner,
  limit: number,
  { now, random, requestId }: Origin,
  terms: typeof HOLD_GROWTH = HOLD_GROWTH,
): Promise<number> => {
  const entryIds = Array.from({ length: limit }, () => newId("ent", now, random));
  const [row] = await callGrow(db, { terms, entryIds, requestId });
  return row?.grown ?? 0;
};

/** The maximum number of calls of lost workers that one statement moves or ends. */
const EXPIRED = 250;

/** `waiting`: the calls of lost or stopped workers for which no slot is free yet. */
export type ExpiredWorkers = EndedCalls & { moved: number; waiting: number };

/**
 * Moves calls of workers whose lease is over to other workers, each call once. Ends the other calls of such workers.
 * One statement.
 */
export const expireWorkers = async (db: Runner, origin: Origin): Promise<ExpiredWorkers> => {
  const [row] = await callExpire(db, { entryIds: entryIdsOf(EXPIRED, origin), requestId: origin.requestId });
  return { moved: row?.moved ?? 0, ended: row?.ended ?? 0, rooms: row?.rooms ?? [], waiting: row?.waiting ?? 0 };
};

const selectRoomsToDelete = statement<CallId & { roomName: string }>(
  "list_rooms_to_delete",
  sql`
    select ${calls.tenantId} as "tenantId", ${calls.sessionId} as "sessionId", ${calls.roomName} as "roomName" from ${calls}
    where ${calls.room} = 'delete'
    order by ${calls.tenantId}, ${calls.sessionId} limit ${sql.placeholder("limit")}::integer`,
);

/** At most `limit` rooms of ended calls whose deletion is not recorded. One statement. */
export const listRoomsToDelete = (db: Runner, limit: number): Promise<(CallId & { roomName: string })[]> =>
  selectRoomsToDelete(db, { limit });

const updateRooms = statement<object>(
  "mark_rooms_gone",
  sql`
    update ${calls} set room = 'gone' where ctid = any (array(
      select ctid from ${calls}
      where ${calls.room} = 'delete' and (${calls.tenantId}, ${calls.sessionId}) in (
        select tenant_id collate "C", session_id collate "C"
        from unnest(${sql.placeholder("tenantIds")}::text[], ${sql.placeholder("sessionIds")}::text[]) gone (tenant_id, session_id)
      )
      for no key update skip locked
    ))`,
);

/**
 * Records that rooms are deleted. Skips rooms that another process is recording, because two processes could lock them
 * in different orders and deadlock. A room that is not recorded is listed again. One statement.
 */
export const markRoomsGone = async (db: Runner, rooms: readonly CallId[]): Promise<void> => {
  await updateRooms(db, {
    tenantIds: rooms.map(({ tenantId }) => tenantId),
    sessionIds: rooms.map(({ sessionId }) => sessionId),
  });
};

/** The time in which the agent of a call must bring the avatar. After it, the agent is dispatched again. */
const AGENT_SECONDS = 5;
const selectAwaited = statement<CallId & { roomName: string }>(
  "list_awaited_agents",
  sql`
    select ${calls.tenantId} as "tenantId", ${calls.sessionId} as "sessionId", ${calls.roomName} as "roomName"
    from ${callAgents}
    join ${calls} on ${calls.tenantId} = ${callAgents.tenantId} and ${calls.sessionId} = ${callAgents.sessionId}
      and ${calls.room} = 'exists'
    where ${callAgents.url} is null
      and ${callAgents.createdAt} <= now() - make_interval(secs => ${sql.raw(String(AGENT_SECONDS))})
    order by ${callAgents.createdAt} limit ${sql.placeholder("limit")}::integer`,
);

/** At most `limit` calls whose agents are late to bring the avatar. One statement. */
export const listAwaitedAgents = (db: Runner, limit: number): Promise<(CallId & { roomName: string })[]> =>
  selectAwaited(db, { limit });

/** An open call whose room is recorded as existing but was not listed. */
export type MissingRoom = CallId & { roomName: string; isStarted: boolean };

const selectRoomDifferences = statement<{
  tenantId: TenantId | null;
  sessionId: SessionId | null;
  roomName: string;
  isStarted: boolean | null;
}>(
  "compare_rooms",
  sql`
    with resumed as materialized (
      select ${calls.tenantId}, ${calls.sessionId}, ${calls.roomName} from ${calls}
      where ${calls.roomNumber} > 1 and ${calls.room} in ('create', 'exists')
    ), open as (
      select slot.tenant_id, slot.session_id,
        coalesce(resumed.room_name, ${sql.placeholder("prefix")}::text || slot.session_id) as room_name
      from (select * from ${avatarSlots} where ${avatarSlots.sessionId} is not null) slot
      left join resumed on resumed.tenant_id = slot.tenant_id and resumed.session_id = slot.session_id
    ), differences as materialized (
      select open.tenant_id, open.session_id, coalesce(open.room_name, listed.room_name) as room_name
      from open
      full join unnest(${sql.placeholder("listed")}::text[]) listed (room_name)
        on listed.room_name collate "C" = open.room_name collate "C"
      where open.session_id is null or listed.room_name is null
    )
    select differences.tenant_id as "tenantId", differences.session_id as "sessionId", differences.room_name as "roomName",
      call.is_started as "isStarted"
    from differences
    left join lateral (
      select ${usageSessions.startedAt} is not null as is_started from ${calls}
      join ${usageSessions} on ${usageSessions.tenantId} = ${calls.tenantId} and ${usageSessions.id} = ${calls.sessionId}
      where ${calls.tenantId} = differences.tenant_id and ${calls.sessionId} = differences.session_id
        and ${calls.room} = 'exists' and ${usageSessions.endedAt} is null offset 0
    ) call on true
    where differences.session_id is null or call.is_started is not null`,
);

/**
 * `stray`: the listed names without an open call. `missing`: the open calls whose rooms are recorded as existing but
 * are not listed.
 */
export type RoomDifferences = { stray: string[]; missing: MissingRoom[] };

/**
 * Compares a list of rooms, whose names begin with `prefix`, with the open calls. The calls are read after the list. A
 * call names each of its rooms before the room is created, so a stray room stays stray. An earlier room of a resumed
 * call is stray. A room that was created after the list counts as missing. One statement. It reads only the slot of
 * each call, and the names of rooms of resumed calls. Its full join reads each row once, regardless of the row counts
 * that the planner expects.
 */
export const compareRooms = async (db: Runner, prefix: string, names: readonly string[]): Promise<RoomDifferences> => {
  const rows = await selectRoomDifferences(db, { prefix, listed: names });
  return {
    stray: rows.flatMap(({ tenantId, roomName }) => (tenantId === null ? [roomName] : [])),
    missing: rows.filter((row): row is MissingRoom => row.tenantId !== null),
  };
};

/**
 * Ends an open session at once and charges the reported usage: a call whose room is gone, or any session for the
 * operator, with `auditEvent`. Returns the room that must be deleted; null when the session is not open, or is not a
 * call in a room of ours. One statement.
 */
export const endLostCall = async (
  db: Runner,
  tenantId: TenantId,
  sessionId: SessionId,
  reason: SessionEndReason,
  origin: Origin,
  auditEvent: AuditEventRecord | null = null,
): Promise<string | null> => {
  const [settleEntryId = "", restEntryId = ""] = entryIdsOf(1, origin);
  const ids = { settleEntryId, restEntryId, requestId: origin.requestId };
  const [row] = await callEndLost(db, { tenantId, sessionId, reason, ...ids, auditEvent });
  return row?.result ?? null;
};

const selectInstance = statement<{ instance: string }>(
  "read_instance",
  sql`select ${service.instance} as "instance" from ${service}`,
);

/** The random name of this service in the names of rooms. One statement. */
export const readInstance = async (db: Runner): Promise<string> => {
  const [row] = await selectInstance(db, {});
  if (!row) throw new Error("the database has no instance");
  return row.instance;
};

/** Numbers for metrics. `slots`: those of workers with a current lease. */
export type FleetCounts = { slots: number; usedSlots: number; openCalls: number; tickets: number };

const selectCounts = statement<FleetCounts>(
  "count_fleet",
  sql`
    select
      (
        select coalesce(sum(${avatarWorkers.slots}), 0)::integer from ${avatarWorkers} where ${avatarWorkers.leaseUntil} > now()
      ) as "slots",
      (
        select count(*)::integer from ${avatarSlots} join ${avatarWorkers} on ${avatarWorkers.id} = ${avatarSlots.workerId}
        where ${avatarSlots.sessionId} is not null and ${avatarWorkers.leaseUntil} > now()
      ) as "usedSlots",
      (select count(*)::integer from ${avatarSlots} where ${avatarSlots.sessionId} is not null) as "openCalls",
      (
        select count(*)::integer from ${callTickets} where ${isWaiting}
      ) as "tickets"`,
);

/** Counts slots, calls and tickets. One statement. */
export const countFleet = async (db: Runner): Promise<FleetCounts> => {
  const [row] = await selectCounts(db, {});
  return row as FleetCounts;
};
