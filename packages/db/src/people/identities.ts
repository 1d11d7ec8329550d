/** Identities: the accounts at a provider of OpenID Connect with which people sign in. */
import type { IdentityId, TenantId, UserId } from "@realtime-avatar/domain/id";
import type { Challenge } from "@realtime-avatar/domain/people/challenge";
import type { IdentityRecord } from "@realtime-avatar/domain/people/people";
import type { Identity } from "@realtime-avatar/domain/people/schemas";
import { sql } from "drizzle-orm";
import {
  createIdentity as callCreate,
  deleteIdentity as callDelete,
  type DeleteIdentityRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import { announceWhileWaiting } from "../callers/pending-changes.ts";
import type { Db } from "../connection/pool.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { nullable, objectJson, plainJson, textJson, timeJson } from "../query/json-text.ts";
import { createList } from "../query/list.ts";
import { selectColumns, statement } from "../query/statement.ts";
import { userIdentities } from "../schema/people.ts";
import { PEOPLE } from "./target.ts";

/** The maximum number of identities of a person. One is usual. A change of the provider needs a second one. */
export const MAX_IDENTITIES = 5;

/** The use of an identity, after the response of its provider was verified. */
export type IdentityUse = { tenantId: TenantId; identityId: IdentityId; userId: UserId; usedAt: Date };

const selectBySubject = statement<IdentityRecord>(
  "find_identity",
  sql`
  select ${selectColumns(userIdentities)} from ${userIdentities}
  where ${userIdentities.tenantId} = ${sql.placeholder("tenantId")}
    and ${userIdentities.issuer} = ${sql.placeholder("issuer")}
    and ${userIdentities.subject} = ${sql.placeholder("subject")}`,
);

/** The identity of a tenant with this issuer and subject; null when no such identity exists. One statement. */
export const findIdentity = async (
  db: Db,
  tenantId: TenantId,
  { issuer, subject }: Pick<IdentityRecord, "issuer" | "subject">,
): Promise<IdentityRecord | null> => {
  const [row] = await selectBySubject(db, { tenantId, issuer, subject });
  return row ?? null;
};

const selectOfUser = statement<IdentityRecord>(
  "find_identities_of_user",
  sql`
  select ${selectColumns(userIdentities)} from ${userIdentities}
  where ${userIdentities.tenantId} = ${sql.placeholder("tenantId")} and ${userIdentities.userId} = ${sql.placeholder("userId")}
  order by ${userIdentities.id}`,
);

/** The identities of a user. One statement. */
export const findIdentities = (db: Db, tenantId: TenantId, userId: UserId): Promise<IdentityRecord[]> =>
  selectOfUser(db, { tenantId, userId });

/** An identity as the API shows it. */
const ITEM = objectJson<Identity>({
  id: plainJson(userIdentities.id),
  issuer: textJson(userIdentities.issuer),
  subject: textJson(userIdentities.subject),
  createdAt: timeJson(userIdentities.createdAt),
  lastUsedAt: nullable(timeJson(userIdentities.lastUsedAt)),
});

/** The newest identities of a person. One statement. */
export const listIdentities = createList(
  "list_identities",
  { table: userIdentities, id: userIdentities.id, prefix: "idn", item: ITEM },
  { userId: userIdentities.userId, tenantId: userIdentities.tenantId },
);

/**
 * Links an identity to the caller. `refused`: the attempt was spent before. `taken`: the identity is already linked.
 * One statement.
 */
export const insertIdentity = async (
  db: Db,
  identity: IdentityRecord,
  attempt: Challenge,
  caller: PersonCaller,
  origin: Origin,
): Promise<{ kind: "written" | "over_quota" | "taken" | "refused" } | { kind: "stale" }> => {
  const event = auditEvent("identity.created", { ...PEOPLE, ...identity }, origin);
  const input = { caller, identity, attempt, maxIdentities: MAX_IDENTITIES, auditEvent: event };
  const [row] = await announceWhileWaiting(db, caller, () => callCreate(db, input));
  return { kind: requireKind(row?.result ?? null, ["written", "over_quota", "taken", "refused", "stale"]) };
};

/**
 * Unlinks an identity of the caller, and ends the other sessions that it has opened. `issuer` is the issuer in use.
 * Identities of other issuers cannot sign in, so they do not count as a way to sign in. One statement.
 */
export const deleteIdentity = async (
  db: Db,
  id: IdentityId,
  issuer: string | null,
  caller: PersonCaller,
  origin: Origin,
): Promise<
  { kind: "written" | "last_passkey"; identity: IdentityRecord } | { kind: "not_found" } | { kind: "stale" }
> => {
  const event = auditEvent("identity.deleted", { ...PEOPLE, tenantId: caller.tenantId, id }, origin);
  const [row] = await announceWhileWaiting(db, caller, () => callDelete(db, { caller, id, issuer, auditEvent: event }));
  const { outcome, ...identity } = row as DeleteIdentityRow;
  const kind = requireKind(outcome, ["written", "last_passkey", "not_found", "stale"]);
  return kind === "written" || kind === "last_passkey" ? { kind, identity: identity as IdentityRecord } : { kind };
};
