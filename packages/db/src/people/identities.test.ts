/** The statements and races of identities, run by a role with only the rights of the service. */
import { describe, expect, test } from "bun:test";
import {
  type IdentityRecord,
  newInvitation,
  newUserSession,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import type { InvitationToken } from "@realtime-avatar/domain/people/tokens";
import { fileDatabase, serviceRole } from "@realtime-avatar/testing/fixture";
import { ISSUER, newChallenge, newIdentity, newPasskey, seedPerson } from "@realtime-avatar/testing/people/seeds";
import { operatorOrigin, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { PersonCaller } from "../callers/callers.ts";
import {
  deleteIdentity,
  findIdentities,
  findIdentity,
  insertIdentity,
  listIdentities,
  MAX_IDENTITIES,
} from "./identities.ts";
import { findInvitation, insertInvitation } from "./invitations.ts";
import { deletePasskey, findPasskeys, insertPasskey } from "./passkeys.ts";
import { insertUserSession, verifyUserSession } from "./user-sessions.ts";
import { deleteUser } from "./users.ts";

const database = await fileDatabase();
/** Connections of a role with only the rights of the service. */
const db = await serviceRole(database);
const tenantId = await seedTenant(database.db);

const ROUNDS = process.env["LONG"] === "1" ? 20 : 8;
const ANY = { versions: null };
const seed = (role: Role) => seedPerson(db, tenantId, role, { owner: database.db, account: "identity" });
const signInWith = (caller: PersonCaller, identity: IdentityRecord, attempt = newChallenge()) => {
  const origin = seedOrigin();
  const of = { tenantId, userId: caller.id, passkeyId: null, identityId: identity.id, userAgent: null };
  const use = { tenantId, identityId: identity.id, userId: caller.id, usedAt: origin.now };
  return insertUserSession(db, newUserSession(of, origin), use, attempt, origin);
};
const sessionsOf = async ({ id }: PersonCaller) =>
  (await database.db.client<{ id: string }[]>`select id from user_sessions where user_id = ${id}`).map((row) => row.id);

describe("a role with the rights of the service", () => {
  test("the role: signs in, verifies, links and unlinks with identities", async () => {
    const { caller, identity } = await seed("owner");
    const origin = seedOrigin(caller);
    expect(caller.session).toMatchObject({ passkeyId: null, identityId: identity.id });
    expect(await findIdentity(db, tenantId, identity)).toMatchObject({ id: identity.id, userId: caller.id });
    expect(await findIdentity(db, tenantId, { ...identity, issuer: "https://other.example.com" })).toBeNull();
    const attempt = newChallenge();
    expect(await signInWith(caller, identity, attempt)).toBe(true);
    expect(await signInWith(caller, identity, attempt)).toBe(false);
    const use = { tenantId, identityId: identity.id, userId: caller.id, usedAt: new Date() };
    const until = verifiedUntil(new Date());
    expect(await verifyUserSession(db, caller, use, newChallenge(), until, origin)).toEqual({ kind: "written" });
    const verified = { ...caller, session: { ...caller.session, version: caller.session.version + 1 } };
    expect(await verifyUserSession(db, verified, use, attempt, until, origin)).toEqual({ kind: "refused" });

    const second = newIdentity(caller.user);
    expect(await insertIdentity(db, second, newChallenge(), caller, origin)).toEqual({ kind: "written" });
    expect(await findIdentities(db, tenantId, caller.id)).toHaveLength(2);
    expect((await listIdentities(db, second, { before: null, limit: 10 })).items).toContain(second.id);
    expect((await deleteIdentity(db, second.id, ISSUER, caller, origin)).kind).toBe("written");
    expect((await deleteIdentity(db, second.id, ISSUER, caller, origin)).kind).toBe("not_found");
  });

  test("an identity, deleted: ends its other sessions, cannot sign in", async () => {
    const { caller, identity } = await seed("viewer");
    const second = newIdentity(caller.user);
    await insertIdentity(db, second, newChallenge(), caller, seedOrigin(caller));
    expect(await signInWith(caller, second)).toBe(true);
    expect(await signInWith(caller, identity)).toBe(true);
    expect(await sessionsOf(caller)).toHaveLength(3);
    await deleteIdentity(db, second.id, ISSUER, caller, seedOrigin(caller));
    expect(await sessionsOf(caller)).toHaveLength(2);
    expect(await signInWith(caller, second)).toBe(false);
    // The caller's session remains when its identity is deleted.
    await insertPasskey(db, newPasskey(caller.user), newChallenge(), caller, seedOrigin(caller));
    await deleteIdentity(db, identity.id, ISSUER, caller, seedOrigin(caller));
    expect(await sessionsOf(caller)).toEqual([caller.sessionId]);
  });

  test("an identity or a passkey, deleted: the links for further passkeys of that person end; those of others remain", async () => {
    const [one, other] = [await seed("owner"), await seed("owner")];
    const passkey = newPasskey(one.caller.user);
    await insertPasskey(db, passkey, newChallenge(), one.caller, seedOrigin(one.caller));
    const invite = async (by: PersonCaller, userId: PersonCaller["id"] | null) => {
      const { role } = by.user;
      const email = userId === null ? "new@example.com" : by.user.email;
      const created = newInvitation({ tenantId, email, role, userId, createdBy: by.id }, seedOrigin(by));
      expect(await insertInvitation(db, created, by, seedOrigin(by))).toEqual({ kind: "written" });
      return created;
    };
    const isOpen = async ({ token }: { token: InvitationToken }) => (await findInvitation(db, token))?.isValid ?? false;
    const kept = [await invite(one.caller, null), await invite(other.caller, other.caller.id)];
    for (const remove of [
      () => deleteIdentity(db, one.identity.id, ISSUER, one.caller, seedOrigin(one.caller)),
      () => deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, one.caller, seedOrigin(one.caller)),
    ]) {
      const link = await invite(one.caller, one.caller.id);
      const before = await isOpen(link);
      expect((await remove()).kind).toBe("written");
      expect([before, await isOpen(link)]).toEqual([true, false]);
      await insertIdentity(db, newIdentity(one.caller.user), newChallenge(), one.caller, seedOrigin(one.caller));
    }
    expect(await Promise.all(kept.map(isOpen))).toEqual([true, true]);
  });

  test("an identity of another user, or an attempt that is used twice: refused", async () => {
    const [one, other] = [await seed("viewer"), await seed("owner")];
    expect((await deleteIdentity(db, one.identity.id, ISSUER, other.caller, seedOrigin(other.caller))).kind).toBe(
      "not_found",
    );
    expect(await signInWith(other.caller, one.identity)).toBe(false);
    const use = { tenantId, identityId: one.identity.id, userId: one.caller.id, usedAt: new Date() };
    const verification = verifyUserSession(db, other.caller, use, newChallenge(), new Date(), seedOrigin(other.caller));
    expect((await verification).kind).toBe("refused");
    const { subject } = one.identity;
    const taken = { ...newIdentity(other.caller.user), subject };
    expect((await insertIdentity(db, taken, newChallenge(), other.caller, seedOrigin(other.caller))).kind).toBe(
      "taken",
    );
    for (let count = 1; count < MAX_IDENTITIES; count++) {
      await insertIdentity(db, newIdentity(one.caller.user), newChallenge(), one.caller, seedOrigin(one.caller));
    }
    const more = insertIdentity(db, newIdentity(one.caller.user), newChallenge(), one.caller, seedOrigin(one.caller));
    expect((await more).kind).toBe("over_quota");
  });

  test("a user, removed: the user's identities are deleted", async () => {
    const { caller, identity } = await seed("viewer");
    expect((await deleteUser(db, caller, ANY, null, operatorOrigin())).kind).toBe("written");
    expect(await findIdentity(db, tenantId, identity)).toBeNull();
    expect(await signInWith(caller, identity)).toBe(false);
  });
});

describe("the last way to sign in", () => {
  test("the deletion of the last way to sign in: refused; identities count only while their issuer is in use", async () => {
    const { caller, identity } = await seed("viewer");
    const origin = seedOrigin(caller);
    expect((await deleteIdentity(db, identity.id, ISSUER, caller, origin)).kind).toBe("last_passkey");
    const passkey = newPasskey(caller.user);
    await insertPasskey(db, passkey, newChallenge(), caller, origin);
    for (const issuer of [null, "https://other.example.com"]) {
      expect((await deletePasskey(db, passkey.id, { ...ANY, issuer }, caller, origin)).kind).toBe("last_passkey");
    }
    expect((await deletePasskey(db, passkey.id, ANY, caller, origin)).kind).toBe("last_passkey");
    expect((await deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin)).kind).toBe("written");
  });

  test("a passkey and an identity, deleted at once: one stays", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { caller, identity } = await seed("viewer");
      const origin = seedOrigin(caller);
      const passkey = newPasskey(caller.user);
      await insertPasskey(db, passkey, newChallenge(), caller, origin);
      const [first, second] = await Promise.all([
        deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin),
        deleteIdentity(db, identity.id, ISSUER, caller, origin),
        // This statement takes the same locks at the same time.
        signInWith(caller, identity),
      ]);
      expect([first.kind, second.kind].toSorted()).toEqual(["last_passkey", "written"]);
    }
  });

  test("a passkey and an identity, deleted while the identity is linked again: one stays", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { caller, identity } = await seed("viewer");
      const origin = seedOrigin(caller);
      const passkey = newPasskey(caller.user);
      await insertPasskey(db, passkey, newChallenge(), caller, origin);
      await Promise.all([
        deletePasskey(db, passkey.id, { ...ANY, issuer: ISSUER }, caller, origin),
        deleteIdentity(db, identity.id, ISSUER, caller, origin),
        insertIdentity(db, { ...newIdentity(caller.user), subject: identity.subject }, newChallenge(), caller, origin),
      ]);
      const left = [
        ...(await findPasskeys(db, tenantId, caller.id)),
        ...(await findIdentities(db, tenantId, caller.id)),
      ];
      expect(left.length).toBeGreaterThan(0);
    }
  });
});
