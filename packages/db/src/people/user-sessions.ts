/**
 * Sessions of people. Each request with a cookie looks up its session. Sessions are not cached, for the same reason as
 * keys: see `callers.ts`.
 */

import type { AuditEventRecord } from "@realtime-avatar/domain/audit";
import type { Environment } from "@realtime-avatar/domain/environment";
import type { TenantId, UserId, UserSessionId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import type { Challenge } from "@realtime-avatar/domain/people/challenge";
import { SESSION_IDLE_MS, type UserRecord, type UserSessionRecord } from "@realtime-avatar/domain/people/people";
import type { USER_SESSION_LIST, UserSession } from "@realtime-avatar/domain/people/schemas";
import { digestToken, type SessionToken } from "@realtime-avatar/domain/people/tokens";
import { sql } from "drizzle-orm";
import {
  createUserSession as callCreate,
  endUserSession as callEnd,
  verifyUserSession as callVerify,
  type EndUserSessionRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import { announceWhileWaiting, delayWhilePending, HAS_PENDING_CHANGE_OF_PERSON } from "../callers/pending-changes.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, outcomeAmong, requireKind, type WriteOutcome } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { newestPage, pageReader } from "../query/list.ts";
import { createSweep, inputColumn } from "../query/statement.ts";
import { peopleSeen, userSessions, users } from "../schema/people.ts";
import { tenants } from "../schema/tenants.ts";
import type { IdentityUse } from "./identities.ts";
import type { Assertion } from "./passkeys.ts";
import { PEOPLE } from "./target.ts";

const IDLE = sql.raw(`interval '${SESSION_IDLE_MS / 1000} seconds'`);

/** When a session of `user_sessions` was last seen. The sign-in counts as seen. */
const SEEN_AT = sql`greatest(${userSessions.createdAt}, (
  select ${peopleSeen.lastSeenAt} from ${peopleSeen}
  where ${peopleSeen.tenantId} = ${userSessions.tenantId} and ${peopleSeen.id} = ${userSessions.id}
))`;

/** Whether a session of `user_sessions` has neither expired nor been idle for too long. */
const IS_LIVE = sql`(${userSessions.expiresAt} > now() and ${SEEN_AT} > now() - ${IDLE})`;

/** A session, the needed columns of its user and its tenant, and whether a change of them is pending. */
type SessionRow = UserSessionRecord &
  Pick<UserRecord, "email" | "name" | "role"> & {
    digest: Uint8Array;
    isLive: boolean;
    checkedAt: Date;
    tenantName: string;
    userVersion: number;
    userCreatedAt: Date;
    userSeenAt: Date | null;
    hasPendingChange: boolean;
  };

/** A session as it is stored, with its user. The person is not authenticated before the digest has been compared. */
export type StoredUserSession = {
  /** SHA-256 of the token, 32 bytes. */
  digest: Uint8Array;
  /** Whether it has neither expired nor been idle for too long. */
  isLive: boolean;
  person: Omit<PersonCaller, "environment">;
};

const toStored = ({ hasPendingChange: _, ...row }: SessionRow): StoredUserSession => {
  const { digest, isLive, checkedAt, tenantName, email, name, role, ...others } = row;
  const { userVersion, userCreatedAt, userSeenAt, ...session } = others;
  const { tenantId, userId: id } = session;
  const user = {
    tenantId,
    id,
    email,
    name,
    role,
    version: userVersion,
    createdAt: userCreatedAt,
    lastSeenAt: userSeenAt,
  };
  const person = {
    ...{ tenantId, id, version: userVersion, sessionId: session.id, needsPasskey: false, credentialKeyId: null },
    ...{ lineage: [], headroom: null, balance: null, role, user, session, tenantName, checkedAt },
  };
  return { digest, isLive, person };
};

type LookUp = { tenantId: TenantId; id: UserSessionId };

const LOOK_UPS = batchedRead<SessionRow, LookUp, { stored: StoredUserSession; hasPendingChange: boolean }>(
  "find_user_session",
  ["tenantId", "id"],
  (inputs) => sql`
    select
      position::integer as "position",
      ${userSessions.tenantId} as "tenantId", ${tenants.name} as "tenantName", ${userSessions.id} as "id",
      ${userSessions.digest} as "digest", ${IS_LIVE} as "isLive", now() as "checkedAt",
      ${userSessions.userId} as "userId", ${userSessions.passkeyId} as "passkeyId",
      ${userSessions.identityId} as "identityId",
      ${userSessions.userAgent} as "userAgent", ${userSessions.version} as "version",
      ${userSessions.verifiedUntil} as "verifiedUntil", ${userSessions.createdAt} as "createdAt",
      ${userSessions.expiresAt} as "expiresAt",
      ${users.email} as "email", ${users.name} as "name", ${users.role} as "role", ${users.version} as "userVersion",
      ${users.createdAt} as "userCreatedAt", ${HAS_PENDING_CHANGE_OF_PERSON} as "hasPendingChange",
      (
        select ${peopleSeen.lastSeenAt} from ${peopleSeen}
        where ${peopleSeen.tenantId} = ${users.tenantId} and ${peopleSeen.id} = ${users.id}
      ) as "userSeenAt"
    from ${inputs}
    cross join lateral (
      select * from ${userSessions}
      where ${userSessions.tenantId} = ${inputColumn("tenantId")} collate "C"
        and ${userSessions.id} = ${inputColumn("id")} collate "C"
      offset 0
    ) user_sessions
    cross join lateral (
      select * from ${users}
      where ${users.tenantId} = ${userSessions.tenantId} and ${users.id} = ${userSessions.userId}
      offset 0
    ) users
    cross join lateral (
      select ${tenants.name} from ${tenants} where ${tenants.tenantId} = ${userSessions.tenantId} offset 0
    ) tenants`,
  (row) => ({ stored: toStored(row), hasPendingChange: row.hasPendingChange }),
);

/**
 * The session that a token names, with its user; null when it does not exist. One statement, shared by concurrent
 * look-ups. It is repeated only while a change of the session or of the user is pending.
 */
export const findUserSession = async (
  db: Db,
  { tenantId, id }: Pick<SessionToken, "tenantId" | "id">,
): Promise<StoredUserSession | null> => {
  const found = await delayWhilePending(
    () => db.batch(LOOK_UPS, { tenantId, id }, tenantId),
    (one) => one?.hasPendingChange ?? false,
  );
  return found?.stored ?? null;
};

/** The maximum number of valid sessions of a person. A further sign-in ends the oldest one. */
export const MAX_SESSIONS = 20;

/** The bounds of a person's sessions, for the functions that write a session. */
export const SESSION_LIMITS = { maxSessions: MAX_SESSIONS, idleSeconds: SESSION_IDLE_MS / 1000 };

/** The audit event of the session that a sign-in ends. The database function sets its target. */
export const endedEvent = ({ tenantId, id }: UserSessionRecord, origin: Origin): AuditEventRecord =>
  auditEvent("user_session.ended", { ...PEOPLE, tenantId, id }, origin);

/** A new session, with the digest of its token in place of the token. */
export const storedSession = (session: UserSessionRecord, token: SessionToken) => ({
  ...session,
  digest: digestToken(token),
});

/** The use of a passkey or an identity at a sign-in. */
type SignInUse = Assertion | IdentityUse;
const useOf = (use: SignInUse) =>
  "passkeyId" in use ? { assertion: use, identityUse: null } : { assertion: null, identityUse: use };

/**
 * Signs a person in with a passkey or an identity whose response was verified, and ends the oldest of `MAX_SESSIONS`
 * sessions. The session has the length of `session`, by the clock of the database. Returns false and writes nothing
 * when the challenge was spent before, the signature counter has not increased, or the user, the passkey or the
 * identity was deleted. One statement.
 */
export const insertUserSession = async (
  db: Db,
  { session, token }: { session: UserSessionRecord; token: SessionToken },
  use: SignInUse,
  challenge: Challenge,
  origin: Origin,
): Promise<boolean> => {
  const by = { ...origin, actor: { id: session.userId, credentialKeyId: null } };
  const input = {
    session: storedSession(session, token),
    ...useOf(use),
    challenge,
    ...SESSION_LIMITS,
    auditEvent: auditEvent("user_session.created", { ...PEOPLE, ...session }, by),
    endedEvent: endedEvent(session, by),
  };
  const user = { tenantId: session.tenantId, id: session.userId };
  const [row] = await announceWhileWaiting(db, user, () => callCreate(db, input));
  return row?.result === true;
};

/**
 * Records that the passkey or the identity was used again, and stores the response of a claim. `refused`: for one of
 * the reasons of `insertUserSession`. `stale`: the session has another version than `caller`. One statement.
 */
export const verifyUserSession = async (
  db: Db,
  caller: PersonCaller,
  use: SignInUse,
  challenge: Challenge,
  verifiedUntil: Date,
  origin: Origin,
  claim: Claim | null = null,
): Promise<WriteOutcome | { kind: "refused" }> => {
  const input = {
    caller,
    version: caller.session.version,
    ...useOf(use),
    challenge,
    verifiedUntil,
    auditEvent: auditEvent("user_session.verified", { ...PEOPLE, ...caller.session }, origin),
    claim,
  };
  const [row] = await announceWhileWaiting(db, caller.session, () => callVerify(db, input));
  return outcomeAmong(row, ["refused"]);
};

/** The outcome of the end of a session, with the session as it was. */
export type EndOutcome =
  | { kind: "written" | "unchanged"; session: UserSessionRecord }
  | { kind: "not_found" }
  | { kind: "stale" };

/** Ends a session of the caller, or with `ofOthers` any session of the tenant. One statement. */
export const endUserSession = async (
  db: Db,
  id: UserSessionId,
  { ofOthers, versions }: { ofOthers: boolean; versions: readonly string[] | null },
  caller: PersonCaller,
  origin: Origin,
): Promise<EndOutcome> => {
  const { tenantId, session: own } = caller;
  const event = auditEvent("user_session.ended", { ...PEOPLE, tenantId, id }, origin);
  const end = () => callEnd(db, { caller, id, ofOthers, versions, auditEvent: event });
  // The function also locks the caller's session.
  const [row] = await announceWhileWaiting(db, { tenantId, id }, () =>
    own.id === id ? end() : announceWhileWaiting(db, own, end),
  );
  const { outcome, ...session } = row as EndUserSessionRow;
  const kind = requireKind(outcome, ["written", "unchanged", "not_found", "stale"]);
  return kind === "written" || kind === "unchanged"
    ? { kind, session: session as unknown as UserSessionRecord }
    : { kind };
};

/** A session as the API shows it. */
const ITEM = objectJson<UserSession>({
  id: plainJson(userSessions.id),
  userId: plainJson(userSessions.userId),
  signInMethod: plainJson(sql`(case when ${userSessions.identityId} is null then 'passkey' else 'oidc' end)`),
  userAgent: nullable(textJson(userSessions.userAgent)),
  createdAt: timeJson(userSessions.createdAt),
  lastSeenAt: timeJson(SEEN_AT),
  expiresAt: timeJson(userSessions.expiresAt),
  isCurrent: rawJson(sql`(${userSessions.id} = ${inputColumn("currentId")} collate "C")`),
});

type PageQuery = {
  tenantId: TenantId;
  userId: UserId | null;
  currentId: UserSessionId;
  before: UserSessionId | null;
  limit: number;
};
const LIST = { table: userSessions, id: userSessions.id, prefix: "uss", item: ITEM } as const;
const readerOf = (columns: Parameters<typeof newestPage>[1]) =>
  pageReader<PageQuery>("list_user_sessions", newestPage(LIST, columns, IS_LIVE), [
    "tenantId",
    "userId",
    "currentId",
    "before",
    "limit",
  ]);
const OF_TENANT = readerOf([[userSessions.tenantId, inputColumn("tenantId")]]);
const OF_USER = readerOf([
  [userSessions.userId, inputColumn("userId")],
  [userSessions.tenantId, inputColumn("tenantId")],
]);

/** The newest live sessions of the caller, or with `ofOthers` of the tenant. One statement. */
export const listUserSessions = (
  db: Db,
  { tenantId, id, sessionId }: PersonCaller,
  ofOthers: boolean,
  { before, limit }: PageRequest<typeof USER_SESSION_LIST>,
): Promise<WrittenPage> => {
  const query = { tenantId, userId: ofOthers ? null : id, currentId: sessionId, before, limit };
  return db.batch(ofOthers ? OF_TENANT : OF_USER, query, tenantId);
};

/**
 * Deletes sessions that have expired; returns their number. Sessions that were idle for too long expire within 12
 * hours.
 */
export const sweepUserSessions = createSweep(
  "sweep_user_sessions",
  userSessions,
  sql`${userSessions.expiresAt} <= now()`,
  userSessions.expiresAt,
);

/** The person of a session in an environment. */
export const inEnvironment = (person: Omit<PersonCaller, "environment">, environment: Environment): PersonCaller => ({
  ...person,
  environment,
});
