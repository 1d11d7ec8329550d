/** Invitations: links that register a passkey, or an identity. */

import type { InvitationId } from "@realtime-avatar/domain/id";
import type { Challenge } from "@realtime-avatar/domain/people/challenge";
import type {
  IdentityRecord,
  InvitationRecord,
  PasskeyRecord,
  UserRecord,
  UserSessionRecord,
} from "@realtime-avatar/domain/people/people";
import type { Invitation } from "@realtime-avatar/domain/people/schemas";
import { digestToken, type InvitationToken, type SessionToken } from "@realtime-avatar/domain/people/tokens";
import { sql } from "drizzle-orm";
import {
  acceptInvitation as callAccept,
  createInvitation as callCreate,
  deleteInvitation as callDelete,
  findInvitation as callFind,
  type DeleteInvitationRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import { announceWhileWaiting } from "../callers/pending-changes.ts";
import type { Db } from "../connection/pool.ts";
import { type Claim, outcomeAmong, requireKind, type WriteOutcome } from "../idempotency/idempotency-keys.ts";
import { objectJson, plainJson, textJson, timeJson } from "../query/json-text.ts";
import { createList } from "../query/list.ts";
import { createSweep } from "../query/statement.ts";
import { invitations } from "../schema/people.ts";
import { MAX_IDENTITIES } from "./identities.ts";
import { MAX_PASSKEYS } from "./passkeys.ts";
import { PEOPLE } from "./target.ts";
import { endedEvent, SESSION_LIMITS, storedSession } from "./user-sessions.ts";

/**
 * Creates an invitation, in place of earlier ones for the same address, and stores the response of a claim. `caller` is null
 * for the operator. One statement.
 */
export const insertInvitation = async (
  db: Db,
  { invitation, token }: { invitation: InvitationRecord; token: InvitationToken },
  caller: PersonCaller | null,
  origin: Origin,
  claim: Claim | null = null,
): Promise<WriteOutcome | { kind: "already_member" | "not_found" }> => {
  const [row] = await callCreate(db, {
    caller,
    invitation: { ...invitation, digest: digestToken(token) },
    auditEvent: auditEvent("invitation.created", { ...PEOPLE, ...invitation }, origin),
    claim,
  });
  return outcomeAmong(row, ["already_member", "not_found"]);
};

/** An invitation as it is stored. Its token is not verified before the digest has been compared. */
export type StoredInvitation = InvitationRecord & {
  digest: Uint8Array;
  tenantName: string;
  /** Whether the invitation has not expired and may still be accepted (may_accept.sql). */
  isValid: boolean;
};

/** The invitation that a token names; null when it does not exist. One statement. */
export const findInvitation = async (
  db: Db,
  { tenantId, id }: Pick<InvitationToken, "tenantId" | "id">,
): Promise<StoredInvitation | null> => {
  const [row] = await callFind(db, { tenantId, id });
  return (row as StoredInvitation | undefined) ?? null;
};

/** The rows that the acceptance of an invitation writes. `user` is null when the invitation is for an existing user. */
export type Acceptance = {
  user: UserRecord | null;
  session: UserSessionRecord;
  token: SessionToken;
  challenge: Challenge;
} & ({ passkey: PasskeyRecord; identity?: null } | { passkey: null; identity: IdentityRecord });

/** Spends an invitation, and writes the user, the passkey or the identity, and the session. One statement. */
export const acceptInvitation = async (
  db: Db,
  invitation: StoredInvitation,
  { user, passkey, identity, session, token, challenge }: Acceptance,
  origin: Origin,
): Promise<{ kind: "written" | "invalid_invitation" | "already_member" | "over_quota" | "taken" | "refused" }> => {
  const by = { ...origin, actor: { id: session.userId, credentialKeyId: null } };
  const input = {
    invitation,
    user,
    passkey,
    identity: identity ?? null,
    session: storedSession(session, token),
    challenge,
    maxPasskeys: MAX_PASSKEYS,
    maxIdentities: MAX_IDENTITIES,
    ...SESSION_LIMITS,
    endedEvent: endedEvent(session, by),
    auditEvents: [
      ...(user ? [auditEvent("user.created", { ...PEOPLE, ...user }, by)] : []),
      passkey
        ? auditEvent("passkey.created", { ...PEOPLE, ...passkey }, by)
        : auditEvent("identity.created", { ...PEOPLE, ...identity }, by),
      auditEvent("user_session.created", { ...PEOPLE, ...session }, by),
    ],
  };
  // For an existing user, the acceptance waits for the user's writes.
  const waitsFor = { tenantId: session.tenantId, id: session.userId };
  const [row] = await announceWhileWaiting(db, waitsFor, () => callAccept(db, input));
  const kinds = ["written", "invalid_invitation", "already_member", "over_quota", "taken", "refused"] as const;
  return { kind: requireKind(row?.result ?? null, kinds) };
};

/** Withdraws an invitation. One statement. */
export const deleteInvitation = async (
  db: Db,
  id: InvitationId,
  caller: PersonCaller,
  origin: Origin,
): Promise<{ kind: "written"; invitation: InvitationRecord } | { kind: "not_found" } | { kind: "stale" }> => {
  const event = auditEvent("invitation.deleted", { ...PEOPLE, tenantId: caller.tenantId, id }, origin);
  const [row] = await callDelete(db, { caller, id, auditEvent: event });
  const { outcome, ...invitation } = row as DeleteInvitationRow;
  const kind = requireKind(outcome, ["written", "not_found", "stale"]);
  return kind === "written" ? { kind, invitation: invitation as unknown as InvitationRecord } : { kind };
};

/** An invitation as the API shows it. */
const ITEM = objectJson<Invitation>({
  id: plainJson(invitations.id),
  email: textJson(invitations.email),
  role: plainJson(invitations.role),
  expiresAt: timeJson(invitations.expiresAt),
  createdAt: timeJson(invitations.createdAt),
});

/** The newest open invitations of new people. One statement. */
export const listInvitations = createList(
  "list_invitations",
  { table: invitations, id: invitations.id, prefix: "inv", item: ITEM },
  { tenantId: invitations.tenantId },
  sql`${invitations.userId} is null and ${invitations.expiresAt} > now()`,
);

/** Deletes invitations that have expired; returns their number. */
export const sweepInvitations = createSweep(
  "sweep_invitations",
  invitations,
  sql`${invitations.expiresAt} <= now()`,
  invitations.expiresAt,
);
