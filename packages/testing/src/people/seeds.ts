/** People in the database, created as in production: by an accepted invitation. */
import { randomBytes } from "node:crypto";
import type { PersonCaller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { acceptInvitation, findInvitation, insertInvitation } from "@realtime-avatar/db/people/invitations";
import { findUserSession, inEnvironment } from "@realtime-avatar/db/people/user-sessions";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import {
  type IdentityRecord,
  newInvitation,
  newUserSession,
  type PasskeyRecord,
  type UserRecord,
} from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { random } from "../random-bytes.ts";
import { operatorOrigin, seedOrigin } from "../seeds.ts";

export const ISSUER = "https://login.example.com";

/** A challenge of a passkey, or an attempt to sign in with an identity. */
export const newChallenge = () => ({ nonce: randomBytes(16), expiresAt: new Date(Date.now() + 60_000) });

export const newPasskey = ({ tenantId, id: userId }: Pick<UserRecord, "tenantId" | "id">): PasskeyRecord => ({
  ...{ tenantId, id: newId("psk", new Date(), random), userId, credentialId: randomBytes(16) },
  ...{ publicKey: randomBytes(77), counter: 0, transports: ["internal", "hybrid"], isBackedUp: true },
  ...{ name: 'Phone "x"', version: 1, createdAt: new Date(), lastUsedAt: null },
});

export const newIdentity = ({ tenantId, id: userId }: Pick<UserRecord, "tenantId" | "id">): IdentityRecord => {
  const id = newId("idn", new Date(), random);
  return { tenantId, id, userId, issuer: ISSUER, subject: `subject ${id}`, createdAt: new Date(), lastUsedAt: null };
};

type PersonOptions = {
  owner?: Db;
  createdBy?: PersonCaller;
  account?: "passkey" | "identity";
  name?: string;
  passkey?: Partial<PasskeyRecord>;
};

/**
 * A person who has accepted an invitation of `owner` with a passkey or an identity, and the session of the acceptance.
 */
export const seedPerson = async (
  db: Db,
  tenantId: TenantId,
  role: Role,
  { owner = db, createdBy, account = "passkey", name = "Ada", passkey: changed }: PersonOptions = {},
) => {
  const origin = createdBy ? seedOrigin(createdBy) : operatorOrigin();
  const fields = { tenantId, email: `${crypto.randomUUID()}@example.com`, role, userId: null };
  const created = newInvitation({ ...fields, createdBy: createdBy?.id ?? null }, origin);
  await insertInvitation(owner, created, createdBy ?? null, origin);
  const invitation = await findInvitation(db, created.token);
  if (!invitation?.isValid) throw new Error("no invitation");
  const id = newId("usr", origin.now, random);
  const user: UserRecord = { ...fields, id, name, version: 1, createdAt: origin.now, lastSeenAt: null };
  const [passkey, identity] = [{ ...newPasskey(user), ...changed }, newIdentity(user)];
  const by = account === "passkey" ? { passkeyId: passkey.id } : { passkeyId: null, identityId: identity.id };
  const signedIn = newUserSession({ tenantId, userId: id, userAgent: null, ...by }, origin);
  const entry = account === "passkey" ? { passkey } : { passkey: null, identity };
  const acceptance = { ...signedIn, user, challenge: newChallenge(), ...entry };
  const { kind } = await acceptInvitation(db, invitation, acceptance, origin);
  const found = await findUserSession(db, signedIn.token);
  if (kind !== "written" || !found) throw new Error(`no person: ${kind}`);
  return { caller: inEnvironment(found.person, "live"), user, passkey, identity, ...signedIn };
};
