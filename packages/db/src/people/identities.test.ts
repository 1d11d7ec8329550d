/** The statements of identities, run by a role with the rights of the service alone; and the races that they decide. */
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { newId } from "@realtime-avatar/domain/id";
import {
  type IdentityRecord,
  newInvitation,
  newUserSession,
  type UserRecord,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { fileDatabase, fileRole } from "@realtime-avatar/testing/fixture";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, originOf, seedTenant } from "@realtime-avatar/testing/seeds";
import type { PersonCaller } from "../api-keys/callers.ts";
import { grantService } from "../grant.ts";
import {
  deleteIdentity,
  findIdentitiesOf,
  findIdentity,
  insertIdentity,
  listIdentities,
  MAX_IDENTITIES,
} from "./identities.ts";
import { acceptInvitation, findInvitation, insertInvitation } from "./invitations.ts";
import { deletePasskey, findPasskeysOf, insertPasskey } from "./passkeys.ts";
import { findUserSession, inEnvironment, insertUserSession, verifyUserSession } from "./user-sessions.ts";
import { deleteUser } from "./users.ts";

const ISSUER = "https://login.example.com";
const database = await fileDatabase();
/** Connections of a role with the rights of the service alone. */
const db = await fileRole(database);
await grantService(database.url, db.role);
const tenantId = await seedTenant(database.db);

const ANY = { versions: null };
const attemptOf = () => ({ nonce: randomBytes(16), expiresAt: new Date(Date.now() + 60_000) });
let subjects = 0;
const identityOf = (user: Pick<UserRecord, "tenantId" | "id">, issuer = ISSUER): IdentityRecord => {
  subjects++;
  const id = newId("idn", new Date(), random);
  const of = { tenantId: user.tenantId, userId: user.id, issuer, subject: `subject ${subjects}` };
  return { id, ...of, createdAt: new Date(), lastUsedAt: null };
};
const passkeyOf = (user: Pick<UserRecord, "tenantId" | "id">) => ({
  tenantId: user.tenantId,
  id: newId("psk", new Date(), random),
  userId: user.id,
  credentialId: randomBytes(16),
  publicKey: randomBytes(77),
  counter: 0,
  transports: [],
  isBackedUp: true,
  name: "Phone",
  version: 1,
  createdAt: new Date(),
  lastUsedAt: null,
});

let people = 0;
/** A person who has joined with an identity. */
const seedPerson = async (role: Role): Promise<{ caller: PersonCaller; identity: IdentityRecord }> => {
  const origin = operatorOrigin();
  people++;
  const fields = { tenantId, email: `i${people}@example.com`, role, userId: null, createdBy: null };
  const { invitation, token } = newInvitation(fields, origin);
  await insertInvitation(database.db, { invitation, token }, null, origin);
  const stored = await findInvitation(db, token);
  if (!stored) throw new Error("no invitation");
  const id = newId("usr", origin.now, random);
  const user: UserRecord = { ...fields, id, name: "Ada", version: 1, createdAt: origin.now, lastSeenAt: null };
  const identity = identityOf(user);
  const of = { tenantId, userId: user.id, passkeyId: null, identityId: identity.id, userAgent: null };
  const signedIn = newUserSession(of, origin);
  const acceptance = { ...signedIn, user, passkey: null, identity, challenge: attemptOf() };
  expect(await acceptInvitation(db, stored, acceptance, origin)).toEqual({ kind: "written" });
  const found = await findUserSession(db, signedIn.token);
  if (!found) throw new Error("no session");
  return { caller: inEnvironment(found.person, "live"), identity };
};

const signInWith = (caller: PersonCaller, identity: IdentityRecord, attempt = attemptOf()) => {
  const origin = originOf();
  const of = { tenantId, userId: caller.id, passkeyId: null, identityId: identity.id, userAgent: null };
  const use = { tenantId, identityId: identity.id, userId: caller.id, usedAt: origin.now };
  return insertUserSession(db, newUserSession(of, origin), use, attempt, origin);
};
const sessionsOf = async ({ id }: PersonCaller) =>
  (await database.db.client<{ id: string }[]>`select id from user_sessions where user_id = ${id}`).map((row) => row.id);

describe("a role with the rights of the service", () => {
  test("the role, with identities: signs in, verifies, links and unlinks", async () => {
    const { caller, identity } = await seedPerson("owner");
    const origin = originOf(caller);
    expect(caller.session).toMatchObject({ passkeyId: null, identityId: identity.id });
    expect(await findIdentity(db, tenantId, identity)).toMatchObject({ id: identity.id, userId: caller.id });
    expect(await findIdentity(db, tenantId, { ...identity, issuer: "https://other.example.com" })).toBeNull();
    const attempt = attemptOf();
    expect(await signInWith(caller, identity, attempt)).toBe(true);
    expect(await signInWith(caller, identity, attempt)).toBe(false);
    const use = { tenantId, identityId: identity.id, userId: caller.id, usedAt: new Date() };
    const until = verifiedUntil(new Date());
    expect(await verifyUserSession(db, caller, use, attemptOf(), until, origin)).toEqual({ kind: "written" });
    const verified = { ...caller, session: { ...caller.session, version: caller.session.version + 1 } };
    expect(await verifyUserSession(db, verified, use, attempt, until, origin)).toEqual({ kind: "refused" });

    const second = identityOf(caller.user);
    expect(await insertIdentity(db, second, attemptOf(), caller, origin)).toEqual({ kind: "written" });
    expect(await findIdentitiesOf(db, tenantId, caller.id)).toHaveLength(2);
    expect((await listIdentities(db, caller, { before: null, limit: 10, filters: {} })).items).toContain(second.id);
    expect((await deleteIdentity(db, second.id, ISSUER, caller, origin)).kind).toBe("written");
    expect((await deleteIdentity(db, second.id, ISSUER, caller, origin)).kind).toBe("not_found");
  });

  test("the other sessions, their identity deleted: ended", async () => {
    const { caller, identity } = await seedPerson("viewer");
    const second = identityOf(caller.user);
    await insertIdentity(db, second, attemptOf(), caller, originOf(caller));
    expect(await signInWith(caller, second)).toBe(true);
    expect(await signInWith(caller, identity)).toBe(true);
    expect(await sessionsOf(caller)).toHaveLength(3);
    await deleteIdentity(db, second.id, ISSUER, caller, originOf(caller));
    expect(await sessionsOf(caller)).toHaveLength(2);
    // Its own session stays when the identity of that one is deleted.
    await insertPasskey(db, passkeyOf(caller.user), attemptOf(), caller, originOf(caller));
    await deleteIdentity(db, identity.id, ISSUER, caller, originOf(caller));
    expect(await sessionsOf(caller)).toEqual([caller.sessionId]);
  });

  test("an identity, of another user or used twice: refused", async () => {
    const [one, other] = [await seedPerson("viewer"), await seedPerson("owner")];
    expect((await deleteIdentity(db, one.identity.id, ISSUER, other.caller, originOf(other.caller))).kind).toBe(
      "not_found",
    );
    expect(await signInWith(other.caller, one.identity)).toBe(false);
    const use = { tenantId, identityId: one.identity.id, userId: one.caller.id, usedAt: new Date() };
    const verification = verifyUserSession(db, other.caller, use, attemptOf(), new Date(), originOf(other.caller));
    expect((await verification).kind).toBe("refused");
    const { subject } = one.identity;
    const taken = { ...identityOf(other.caller.user), subject };
    expect((await insertIdentity(db, taken, attemptOf(), other.caller, originOf(other.caller))).kind).toBe("taken");
    for (let count = 1; count < MAX_IDENTITIES; count++) {
      await insertIdentity(db, identityOf(one.caller.user), attemptOf(), one.caller, originOf(one.caller));
    }
    const more = insertIdentity(db, identityOf(one.caller.user), attemptOf(), one.caller, originOf(one.caller));
    expect((await more).kind).toBe("over_quota");
  });

  test("a user, removed: their identities go too", async () => {
    const { caller, identity } = await seedPerson("viewer");
    expect((await deleteUser(db, caller, ANY, null, operatorOrigin())).kind).toBe("written");
    expect(await findIdentity(db, tenantId, identity)).toBeNull();
    expect(await signInWith(caller, identity)).toBe(false);
  });
});

describe("the last way to sign in", () => {
  test("the last way, deleted: kept; identities count only while their issuer is in use", async () => {
    const { caller, identity } = await seedPerson("viewer");
    const origin = originOf(caller);
    expect((await deleteIdentity(db, identity.id, ISSUER, caller, origin)).kind).toBe("last_passkey");
    const passkey = passkeyOf(caller.user);
    await insertPasskey(db, passkey, attemptOf(), caller, origin);
    for (const issuer of [null, "https://other.example.com"]) {
      expect((await deletePasskey(db, passkey.id, { ...ANY, issuer }, caller, origin)).kind).toBe("last_passkey");
    }
    expect((await deletePasskey(db, passkey.id, ANY, caller, origin)).kind).toBe("last_passkey");
    expect((await deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin)).kind).toBe("written");
  });

  test("a passkey and an identity, both deleted at once: one stays", async () => {
    for (let round = 0; round < 20; round++) {
      const { caller, identity } = await seedPerson("viewer");
      const origin = originOf(caller);
      const passkey = passkeyOf(caller.user);
      await insertPasskey(db, passkey, attemptOf(), caller, origin);
      const [first, second] = await Promise.all([
        deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin),
        deleteIdentity(db, identity.id, ISSUER, caller, origin),
        // Takes the same locks meanwhile.
        signInWith(caller, identity),
      ]);
      expect([first.kind, second.kind].toSorted()).toEqual(["last_passkey", "written"]);
    }
  });

  test("a passkey and an identity, deleted while the identity is linked again: one stays", async () => {
    for (let round = 0; round < 20; round++) {
      const { caller, identity } = await seedPerson("viewer");
      const origin = originOf(caller);
      const passkey = passkeyOf(caller.user);
      await insertPasskey(db, passkey, attemptOf(), caller, origin);
      await Promise.all([
        deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin),
        deleteIdentity(db, identity.id, ISSUER, caller, origin),
        insertIdentity(db, { ...identityOf(caller.user), subject: identity.subject }, attemptOf(), caller, origin),
      ]);
      const left = [
        ...(await findPasskeysOf(db, tenantId, caller.id)),
        ...(await findIdentitiesOf(db, tenantId, caller.id)),
      ];
      expect(left.length).toBeGreaterThan(0);
    }
  });
});
