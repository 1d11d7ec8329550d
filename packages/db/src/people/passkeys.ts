/** Passkeys, with which people sign in. */
import type { PasskeyId, TenantId, UserId } from "@realtime-avatar/domain/id";
import type { Challenge } from "@realtime-avatar/domain/people/challenge";
import type { PasskeyRecord } from "@realtime-avatar/domain/people/people";
import type { Passkey } from "@realtime-avatar/domain/people/schemas";
import { sql } from "drizzle-orm";
import {
  createPasskey as callCreate,
  deletePasskey as callDelete,
  updatePasskey as callUpdate,
  type DeletePasskeyRow,
  type UpdatePasskeyRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import { announceWhileWaiting } from "../callers/pending-changes.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, outcomeAmong, requireKind, type WriteOutcome } from "../idempotency/idempotency-keys.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { createList } from "../query/list.ts";
import { createSweep, selectColumns, statement } from "../query/statement.ts";
import { passkeys, spentChallenges } from "../schema/people.ts";
import { PEOPLE } from "./target.ts";

/** The maximum number of passkeys of a person. The options of a registration list all of them. */
export const MAX_PASSKEYS = 20;

/** A response signed by a passkey, after its signature was verified. */
export type Assertion = {
  tenantId: TenantId;
  passkeyId: PasskeyId;
  userId: UserId;
  counter: number;
  isBackedUp: boolean;
  usedAt: Date;
};

/** A row of a passkey. The driver gives a bigint as text. */
type PasskeyRow = Omit<PasskeyRecord, "counter"> & { counter: string };
const toPasskey = (row: PasskeyRow): PasskeyRecord => ({ ...row, counter: Number(row.counter) });

const selectByCredential = statement<PasskeyRow>(
  "find_passkey",
  sql`
  select ${selectColumns(passkeys)} from ${passkeys}
  where ${passkeys.tenantId} = ${sql.placeholder("tenantId")} and ${passkeys.credentialId} = ${sql.placeholder("credentialId")}`,
);

/** The passkey of a tenant with this credential id; null when no such passkey exists. One statement. */
export const findPasskey = async (
  db: Db,
  tenantId: TenantId,
  credentialId: Uint8Array,
): Promise<PasskeyRecord | null> => {
  const [row] = await selectByCredential(db, { tenantId, credentialId });
  return row ? toPasskey(row) : null;
};

const selectOfUser = statement<PasskeyRow>(
  "find_passkeys_of_user",
  sql`
  select ${selectColumns(passkeys)} from ${passkeys}
  where ${passkeys.tenantId} = ${sql.placeholder("tenantId")} and ${passkeys.userId} = ${sql.placeholder("userId")}
  order by ${passkeys.id}`,
);

/** The passkeys of a user. One statement. */
export const findPasskeys = async (db: Db, tenantId: TenantId, userId: UserId): Promise<PasskeyRecord[]> =>
  (await selectOfUser(db, { tenantId, userId })).map(toPasskey);

/** A passkey as the API shows it. */
const ITEM = objectJson<Passkey>({
  id: plainJson(passkeys.id),
  name: textJson(passkeys.name),
  createdAt: timeJson(passkeys.createdAt),
  lastUsedAt: nullable(timeJson(passkeys.lastUsedAt)),
  isBackedUp: rawJson(passkeys.isBackedUp),
});

/** The newest passkeys of a person. One statement. */
export const listPasskeys = createList(
  "list_passkeys",
  { table: passkeys, id: passkeys.id, prefix: "psk", item: ITEM },
  { userId: passkeys.userId, tenantId: passkeys.tenantId },
);

/**
 * Writes a further passkey of the caller, and stores the response of a claim. `refused`: the challenge was spent
 * before, or the passkey is already registered. One statement.
 */
export const insertPasskey = async (
  db: Db,
  passkey: PasskeyRecord,
  challenge: Challenge,
  caller: PersonCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<WriteOutcome | { kind: "over_quota" | "refused" }> => {
  const event = auditEvent("passkey.created", { ...PEOPLE, ...passkey }, origin);
  const input = { caller, passkey, challenge, maxPasskeys: MAX_PASSKEYS, auditEvent: event, claim };
  const [row] = await announceWhileWaiting(db, caller, () => callCreate(db, input));
  return outcomeAmong(row, ["over_quota", "refused"]);
};

/** The outcome of a change of a passkey, with the passkey after the change, or before its deletion. */
export type PasskeyOutcome =
  | { kind: "written" | "unchanged" | "last_passkey"; passkey: PasskeyRecord }
  | { kind: "not_found" }
  | { kind: "stale" };

const outcomeOf = ({ outcome, ...row }: UpdatePasskeyRow | DeletePasskeyRow): PasskeyOutcome => {
  const kind = requireKind(outcome, ["written", "unchanged", "last_passkey", "not_found", "stale"]);
  if (kind === "not_found" || kind === "stale") return { kind };
  return { kind, passkey: toPasskey(row as PasskeyRow) };
};

type Accepted = { versions: readonly string[] | null };

/** Renames a passkey of the caller. One statement. */
export const updatePasskey = async (
  db: Db,
  id: PasskeyId,
  name: string,
  { versions }: Accepted,
  caller: PersonCaller,
  origin: Origin,
): Promise<PasskeyOutcome> => {
  const event = auditEvent("passkey.updated", { ...PEOPLE, tenantId: caller.tenantId, id }, origin, ["name"]);
  const [row] = await callUpdate(db, { caller, id, name, versions, auditEvent: event });
  return outcomeOf(row as UpdatePasskeyRow);
};

/**
 * Deletes a passkey of the caller, and ends the other sessions that it has opened. `issuer`: see `deleteIdentity`. One
 * statement.
 */
export const deletePasskey = async (
  db: Db,
  id: PasskeyId,
  { versions, issuer = null }: Accepted & { issuer?: string | null },
  caller: PersonCaller,
  origin: Origin,
): Promise<PasskeyOutcome> => {
  const event = auditEvent("passkey.deleted", { ...PEOPLE, tenantId: caller.tenantId, id }, origin);
  const [row] = await announceWhileWaiting(db, caller, () =>
    callDelete(db, { caller, id, versions, issuer, auditEvent: event }),
  );
  return outcomeOf(row as DeletePasskeyRow);
};

/** Deletes challenges that have expired. An hour is added: see `spend_challenge.sql`. Returns their number. */
export const sweepChallenges = createSweep(
  "sweep_challenges",
  spentChallenges,
  sql`${spentChallenges.expiresAt} <= now() - interval '1 hour'`,
  spentChallenges.expiresAt,
);
