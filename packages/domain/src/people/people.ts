/** People, their sessions, passkeys and invitations: the stored records and their API representations. */
import type { Environment } from "../environment.ts";
import {
  type IdentityId,
  type InvitationId,
  isId,
  newId,
  type PasskeyId,
  type RandomBytes,
  type TenantId,
  type UserId,
  type UserSessionId,
} from "../id.ts";
import { presentAs } from "../present.ts";
import { Problem } from "../problem.ts";
import { normalEmail } from "../schema.ts";
import type { Role } from "./roles.ts";
import { CurrentSession, Identity, INVITATION_SECONDS, Invitation, Passkey, User, UserSession } from "./schemas.ts";
import { generateToken, type InvitationToken, type SessionToken } from "./tokens.ts";

const MINUTE_MS = 60_000;
/**
 * The maximum length of a session, its maximum time without a request, and the time for which a use of the passkey
 * counts.
 */
export const SESSION_MS = 12 * 60 * MINUTE_MS;
export const SESSION_IDLE_MS = 30 * MINUTE_MS;
const VERIFIED_MS = 5 * MINUTE_MS;

/** Events of people belong to no environment. They count as live, so that no test key sees them. */
export const PEOPLE_ENVIRONMENT: Environment = "live";

/** Later by `milliseconds`. */
const later = (time: Date, milliseconds: number): Date => new Date(time.getTime() + milliseconds);

export type UserRecord = {
  tenantId: TenantId;
  id: UserId;
  /** In its normal form (`normalEmail`); unique in the tenant. */
  email: string;
  name: string;
  role: Role;
  version: number;
  createdAt: Date;
  lastSeenAt: Date | null;
};

export const presentUser = (record: UserRecord): User => presentAs(User, record);

export type UserSessionRecord = {
  tenantId: TenantId;
  id: UserSessionId;
  userId: UserId;
  /** The credential that opened the session: a passkey or an identity; the other one is null. */
  passkeyId: PasskeyId | null;
  identityId: IdentityId | null;
  userAgent: string | null;
  version: number;
  verifiedUntil: Date;
  createdAt: Date;
  expiresAt: Date;
};

/** A session in lists. */
export const presentUserSession = (
  record: UserSessionRecord,
  seen: { lastSeenAt: Date; isCurrent: boolean },
): UserSession => {
  const signInMethod = record.identityId === null ? "passkey" : "oidc";
  return presentAs(UserSession, { ...record, signInMethod, ...seen });
};

/** The session of a request. A request is a use, so the idle time begins now. */
export const presentCurrentSession = (
  session: Pick<UserSessionRecord, "id" | "expiresAt" | "verifiedUntil">,
  user: UserRecord,
  tenantName: string,
  now: Date,
): CurrentSession => {
  const idleExpiresAt = Math.min(later(now, SESSION_IDLE_MS).getTime(), session.expiresAt.getTime());
  return presentAs(CurrentSession, {
    ...session,
    idleExpiresAt: new Date(idleExpiresAt),
    user: presentUser(user),
    tenant: { id: user.tenantId, name: tenantName },
  });
};

export type PasskeyRecord = {
  tenantId: TenantId;
  id: PasskeyId;
  userId: UserId;
  credentialId: Uint8Array;
  /** A COSE key. */
  publicKey: Uint8Array;
  /** The signature counter of the authenticator; 0 for an authenticator without a counter. */
  counter: number;
  transports: readonly string[];
  isBackedUp: boolean;
  name: string;
  version: number;
  createdAt: Date;
  lastUsedAt: Date | null;
};

export const presentPasskey = (
  record: Pick<PasskeyRecord, "id" | "name" | "createdAt" | "lastUsedAt" | "isBackedUp">,
): Passkey => presentAs(Passkey, record);

export type IdentityRecord = {
  tenantId: TenantId;
  id: IdentityId;
  userId: UserId;
  /** The provider, and its id of the account. Both together are unique in the tenant. */
  issuer: string;
  subject: string;
  createdAt: Date;
  lastUsedAt: Date | null;
};

export const presentIdentity = (record: IdentityRecord): Identity => presentAs(Identity, record);

export type InvitationRecord = {
  tenantId: TenantId;
  id: InvitationId;
  email: string;
  role: Role;
  /** The person who registers a further passkey with the invitation; null when it creates a user. */
  userId: UserId | null;
  /** The person who created it; null: the operator. It is valid only while that person may create it. */
  createdBy: UserId | null;
  createdAt: Date;
  expiresAt: Date;
};

export const presentInvitation = (record: InvitationRecord): Invitation => presentAs(Invitation, record);

/** A new invitation with its token. */
export const newInvitation = (
  {
    lifetimeSeconds = INVITATION_SECONDS,
    ...fields
  }: Pick<InvitationRecord, "tenantId" | "email" | "role" | "userId" | "createdBy"> & {
    lifetimeSeconds?: number | undefined;
  },
  { now, random }: { now: Date; random: RandomBytes },
): { invitation: InvitationRecord; token: InvitationToken } => {
  const id = newId("inv", now, random);
  const invitation = {
    ...fields,
    id,
    email: normalEmail(fields.email),
    createdAt: now,
    expiresAt: later(now, lifetimeSeconds * 1000),
  };
  return { invitation, token: generateToken("invitation", invitation, random) };
};

/** The link of an invitation. The token is in the fragment, which browsers never send: neither to a server nor as `Referer`. */
export const invitationUrl = (publicUrl: string, token: InvitationToken): string =>
  `${publicUrl}/dashboard/register#${token.reveal()}`;

/** A new session with its token. A sign-in counts as the use of the passkey, unless `verifiedUntil` says otherwise. */
export const newUserSession = (
  fields: Pick<UserSessionRecord, "tenantId" | "userId" | "passkeyId" | "userAgent"> &
    Partial<Pick<UserSessionRecord, "identityId" | "verifiedUntil">>,
  { now, random }: { now: Date; random: RandomBytes },
): { session: UserSessionRecord; token: SessionToken } => {
  const session = {
    identityId: null,
    verifiedUntil: later(now, VERIFIED_MS),
    ...fields,
    id: newId("uss", now, random),
    version: 1,
    createdAt: now,
    expiresAt: later(now, SESSION_MS),
  };
  return { session, token: generateToken("session", session, random) };
};

/** The time until which a use of the passkey at `now` verifies the session. */
export const verifiedUntil = (now: Date): Date => later(now, VERIFIED_MS);

const HANDLE = /^([0-7][0-9a-z]{25})([0-7][0-9a-z]{25})$/;

/** The WebAuthn user handle: the tenant and the user, so that a sign-in without a name finds both. 52 bytes of ASCII. */
export const userHandle = ({ tenantId, id }: Pick<UserRecord, "tenantId" | "id">): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`${tenantId.slice(4)}${id.slice(4)}`);

/** Reads a user handle in base64url; null when it is not one of this service. */
export const parseUserHandle = (text: string): { tenantId: TenantId; userId: UserId } | null => {
  const [, tenant, user] = HANDLE.exec(Buffer.from(text, "base64url").toString("latin1")) ?? [];
  const [tenantId, userId] = [`ten_${tenant}`, `usr_${user}`];
  return isId("ten", tenantId) && isId("usr", userId) ? { tenantId, userId } : null;
};

/** Throws the problem `passkey_required` unless the passkey was used within the last five minutes. */
export const checkVerified = ({ verifiedUntil, checkedAt }: { verifiedUntil: Date; checkedAt: Date }): void => {
  if (verifiedUntil.getTime() <= checkedAt.getTime()) {
    throw new Problem("passkey_required", "This operation needs the passkey again.");
  }
};
