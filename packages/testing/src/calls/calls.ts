/** Avatar workers and calls for tests of the database. */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { type CallRequest, confirmRoom, openCall } from "@realtime-avatar/db/calls/calls";
import { type SyncResult, type SyncTerms, syncWorker } from "@realtime-avatar/db/calls/fleet";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { ticketFingerprint } from "@realtime-avatar/domain/calls/queue";
import { roomName } from "@realtime-avatar/domain/calls/room";
import type { ReportedCall, SyncRequest } from "@realtime-avatar/domain/calls/worker-sync";
import { type AvatarId, newId, type SessionId } from "@realtime-avatar/domain/id";
import type { TestDb } from "../database.ts";
import { random } from "../random-bytes.ts";
import { operatorOrigin, seedAvatar } from "../seeds.ts";

export const SYNC_TERMS: SyncTerms = { leaseSeconds: 15, sessionLeaseSeconds: 60, dailyTokens: null };

/** Syncs a worker, by default with two slots and no calls. */
export const sync = (
  db: Db,
  worker: string,
  request: Partial<SyncRequest> = {},
  terms: SyncTerms = SYNC_TERMS,
): Promise<SyncResult> =>
  syncWorker(db, worker, { slots: 2, features: ["echo"], calls: [], ...request }, terms, operatorOrigin());

/** The report of a worker about a call. */
export const report = (
  sessionId: SessionId,
  state: ReportedCall["state"] = "started",
  used_seconds = 1,
  fields: Partial<ReportedCall> = {},
): ReportedCall => ({ session_id: sessionId, generation: 1, state, used_seconds, ...fields });

/** Makes calls older, as if they had started the given number of seconds earlier. Their workers have synced now. */
export const ageCalls = async (
  { client }: TestDb,
  sessionIds: readonly SessionId[],
  seconds: number,
): Promise<void> => {
  await client`
    update usage_sessions set started_at = started_at - make_interval(secs => ${seconds}) where id = any (${sessionIds as string[]})`;
  await client`
    update calls set counts_from = counts_from - make_interval(secs => ${seconds}) where session_id = any (${sessionIds as string[]})`;
};

/** Ends the lease of a worker whose last sync was the given number of seconds ago. */
export const endLease = async ({ client }: TestDb, worker: string, secondsAgo = 16): Promise<void> => {
  await client`
    update fleet.avatar_workers set lease_until = now() - interval '1 second',
      synced_at = now() - make_interval(secs => ${secondsAgo})
    where id = ${worker}`;
};

/** A ready avatar of the caller. */
export const readyAvatar = async (db: Db, caller: Caller): Promise<AvatarId> => {
  const { id } = await seedAvatar(db, caller);
  await db.run("update avatars set status = 'ready', cache_manifest_id = 'man_1_x' where id = $1", [id]);
  return id;
};

/** A request for a call of 100 seconds at one credit micro each. */
export const callRequest = (caller: Caller, avatarId: AvatarId, changes: Partial<CallRequest> = {}): CallRequest => {
  const { now, requestId } = operatorOrigin();
  const id = newId("ses", now, random);
  const metadata = changes.metadata ?? {};
  return {
    ...{ id, environment: caller.environment, avatarId, maxSeconds: 100, minSeconds: 60, price: 1, startSeconds: 120 },
    ...{ metadata, entryId: newId("ent", now, random), requestId, createdAt: now },
    ...{ mode: "avatar", roomName: roomName("test", id), input: { stt_mode: "server" }, testOutcome: null },
    ...{
      ticketId: null,
      newTicketId: newId("tkt", now, random),
      growth: null,
      awaitsAgent: false,
      brought: null,
      conversation: null,
      transcript: null,
      recording: null,
      hasConnectionHistory: false,
    },
    fingerprint: ticketFingerprint({ apiKeyId: caller.id, avatarId, metadata }),
    ...changes,
  };
};

/** Starts a call whose room exists, and returns its session. Throws when it is not admitted. */
export const seedCall = async (
  db: Db,
  caller: Caller,
  avatarId: AvatarId,
  changes: Partial<CallRequest> = {},
): Promise<SessionId> => {
  const request = callRequest(caller, avatarId, changes);
  const { kind } = await openCall(db, request, caller, null);
  if (kind !== "written") throw new Error(`the call was not started: ${kind}`);
  await confirmRoom(db, caller.tenantId, request.id, request.roomName);
  return request.id;
};
