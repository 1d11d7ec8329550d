/**
 * Rules about one person, session or passkey, while the tenant has another person and the person has other passkeys.
 */
import { expect, test } from "bun:test";
import {
  newInvitation,
  newUserSession,
  type PasskeyRecord,
  SESSION_IDLE_MS,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { ISSUER, newChallenge, newIdentity, newPasskey, seedPerson } from "@realtime-avatar/testing/people/seeds";
import { seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { PersonCaller } from "../callers/callers.ts";
import { deleteIdentity, insertIdentity, MAX_IDENTITIES } from "./identities.ts";
import { findInvitation, insertInvitation } from "./invitations.ts";
import { deletePasskey, insertPasskey, MAX_PASSKEYS, updatePasskey } from "./passkeys.ts";
import { recordPeopleSeen } from "./seen.ts";
import { endUserSession, insertUserSession, MAX_SESSIONS, verifyUserSession } from "./user-sessions.ts";
import { deleteUser } from "./users.ts";

const { db } = await fileDatabase();
const { client } = db;
const tenantId = await seedTenant(db);
const ANY = { versions: null };

const addPasskey = async (caller: PersonCaller): Promise<PasskeyRecord> => {
  const passkey = newPasskey(caller.user);
  const outcome = await insertPasskey(db, passkey, newChallenge(), caller, seedOrigin(caller));
  if (outcome.kind !== "written") throw new Error(outcome.kind);
  return passkey;
};
const addIdentity = async (caller: PersonCaller) => {
  const identity = newIdentity(caller.user);
  const outcome = await insertIdentity(db, identity, newChallenge(), caller, seedOrigin(caller));
  if (outcome.kind !== "written") throw new Error(outcome.kind);
  return identity;
};
const useOf = ({ id: passkeyId, userId }: PasskeyRecord, counter = 0) => {
  return { tenantId, passkeyId, userId, counter, isBackedUp: true, usedAt: new Date() };
};
/** Signs the person in with a passkey, and returns the session. */
const signIn = async ({ id: userId }: PersonCaller, passkey: PasskeyRecord) => {
  const origin = seedOrigin();
  const created = newUserSession({ tenantId, userId, passkeyId: passkey.id, userAgent: null }, origin);
  const isWritten = await insertUserSession(db, created, useOf(passkey), newChallenge(), origin);
  return isWritten ? created.session.id : null;
};
/** Two people of the tenant, each with two passkeys and an identity. */
const seedTwo = async () => {
  const people = [await seedPerson(db, tenantId, "owner"), await seedPerson(db, tenantId, "owner")] as const;
  const [one, other] = await Promise.all(
    people.map(async ({ caller, passkey }) => {
      const second = await addPasskey(caller);
      return { caller, passkey, second, identity: await addIdentity(caller), session: await signIn(caller, second) };
    }),
  );
  if (!one || !other) throw new Error("no people");
  return { one, other };
};
const sessions = async () =>
  (await client`select id from user_sessions where tenant_id = ${tenantId}`).map((row) => row["id"] as string);
const ids = (rows: readonly Record<string, unknown>[]) => rows.map((row) => row["id"]);

test("a passkey, used: only its counter and its last use change", async () => {
  const { one } = await seedTwo();
  await client`update passkeys set last_used_at = null, counter = 1 where tenant_id = ${tenantId}`;
  const origin = seedOrigin();
  const created = newUserSession(
    { tenantId, userId: one.caller.id, passkeyId: one.second.id, userAgent: null },
    origin,
  );
  // A counter that has not increased shows a copy of the authenticator.
  for (const [counter, isAccepted] of [
    [0, false],
    [1, false],
    [2, true],
  ] as const) {
    const use = useOf(one.second, counter);
    expect(await insertUserSession(db, created, use, newChallenge(), origin)).toBe(isAccepted);
  }
  const used = await client`select id from passkeys where last_used_at is not null or counter <> 1`;
  expect(ids(used)).toEqual([one.second.id]);
});

test("an identity, used: only its last use changes", async () => {
  const { one } = await seedTwo();
  await addIdentity(one.caller);
  await client`update user_identities set last_used_at = null`;
  const origin = seedOrigin();
  const of = { tenantId, userId: one.caller.id, passkeyId: null, identityId: one.identity.id, userAgent: null };
  const use = { tenantId, identityId: one.identity.id, userId: one.caller.id, usedAt: origin.now };
  expect(await insertUserSession(db, newUserSession(of, origin), use, newChallenge(), origin)).toBe(true);
  expect(ids(await client`select id from user_identities where last_used_at is not null`)).toEqual([one.identity.id]);
});

test("a session, verified: only this one; with the passkey of a colleague: refused", async () => {
  const { one, other } = await seedTwo();
  await client`update user_sessions set verified_until = created_at`;
  const until = verifiedUntil(new Date());
  const verify = (passkey: PasskeyRecord) =>
    verifyUserSession(db, one.caller, useOf(passkey), newChallenge(), until, seedOrigin(one.caller));
  expect(await verify(other.passkey)).toEqual({ kind: "refused" });
  expect(await verify({ ...other.passkey, userId: one.caller.id })).toEqual({ kind: "refused" });
  expect(await verify(one.passkey)).toEqual({ kind: "written" });
  const verified = await client`select id from user_sessions where verified_until > created_at or version > 1`;
  expect(ids(verified)).toEqual([one.caller.sessionId]);
});

test("a passkey, deleted: only its other sessions end; the passkey of a colleague is not found", async () => {
  const { one, other } = await seedTwo();
  const ofFirst = await signIn(one.caller, one.passkey);
  const before = await sessions();
  const origin = seedOrigin(one.caller);
  expect((await deletePasskey(db, other.second.id, ANY, one.caller, origin)).kind).toBe("not_found");
  expect((await updatePasskey(db, other.second.id, "x", ANY, one.caller, origin)).kind).toBe("not_found");
  expect((await deleteIdentity(db, other.identity.id, ISSUER, one.caller, origin)).kind).toBe("not_found");
  expect((await deletePasskey(db, one.second.id, ANY, one.caller, origin)).kind).toBe("written");
  expect((await sessions()).sort()).toEqual(before.filter((id) => id !== one.session).sort());
  // The caller's session goes on, although the passkey that opened it is deleted.
  expect((await deletePasskey(db, one.passkey.id, { ...ANY, issuer: ISSUER }, one.caller, origin)).kind).toBe(
    "written",
  );
  const left = before.filter((id) => id !== one.session && id !== ofFirst);
  expect((await sessions()).sort()).toEqual(left.sort());
});

test("the last way to sign in, while colleagues have other ways: cannot be deleted", async () => {
  const { one } = await seedTwo();
  const origin = seedOrigin(one.caller);
  expect((await deletePasskey(db, one.second.id, ANY, one.caller, origin)).kind).toBe("written");
  // The identity belongs to an issuer that is not in use.
  const last = await deletePasskey(
    db,
    one.passkey.id,
    { ...ANY, issuer: "https://other.example.com" },
    one.caller,
    origin,
  );
  expect(last.kind).toBe("last_passkey");
  expect((await deleteIdentity(db, one.identity.id, ISSUER, one.caller, origin)).kind).toBe("written");
  expect((await deletePasskey(db, one.passkey.id, { ...ANY, issuer: ISSUER }, one.caller, origin)).kind).toBe(
    "last_passkey",
  );
});

test("the limits of passkeys, identities and sessions: separate for each person", async () => {
  const { one, other } = await seedTwo();
  for (let count = 2; count < MAX_PASSKEYS; count++) await addPasskey(other.caller);
  for (let count = 1; count < MAX_IDENTITIES; count++) await addIdentity(other.caller);
  const origin = seedOrigin(other.caller);
  const over = { kind: "over_quota" } as const;
  expect(await insertPasskey(db, newPasskey(other.caller.user), newChallenge(), other.caller, origin)).toEqual(over);
  expect(await insertIdentity(db, newIdentity(other.caller.user), newChallenge(), other.caller, origin)).toEqual(over);
  await addPasskey(one.caller);
  await addIdentity(one.caller);
  for (let count = 2; count < MAX_SESSIONS; count++) await signIn(other.caller, other.passkey);
  const before = await sessions();
  const added = await signIn(one.caller, one.passkey);
  expect((await sessions()).filter((id) => id !== added).sort()).toEqual(before.sort());
});

test("a sign-in beyond the limit: ends the idle session, even if another one is older", async () => {
  const { caller, passkey } = await seedPerson(db, tenantId, "viewer");
  const [older, idle] = [await signIn(caller, passkey), await signIn(caller, passkey)];
  for (let count = 3; count < MAX_SESSIONS; count++) await signIn(caller, passkey);
  const [olderMs, idleMs] = [SESSION_IDLE_MS + 120_000, SESSION_IDLE_MS + 60_000];
  for (const [id, ms] of [
    [older, olderMs],
    [idle, idleMs],
  ] as const) {
    await client`
      update user_sessions set created_at = created_at - make_interval(secs => ${ms / 1000}::float8) where id = ${id}`;
  }
  await recordPeopleSeen(db, [{ tenantId, id: older as string, usedAt: new Date() } as never]);
  await signIn(caller, passkey);
  const left = ids(await client`select id from user_sessions where user_id = ${caller.id}`);
  expect([left.length, left.includes(older), left.includes(idle)]).toEqual([MAX_SESSIONS, true, false]);
});

test("the end of an expired session or of a colleague's session: not found", async () => {
  const { one, other } = await seedTwo();
  const end = (id: string | null, ofOthers: boolean) =>
    endUserSession(db, id as never, { ofOthers, ...ANY }, one.caller, seedOrigin(one.caller));
  expect((await end(other.session, false)).kind).toBe("not_found");
  await client`update user_sessions set created_at = now() - interval '1 day', expires_at = now() where id = ${one.session}`;
  expect((await end(one.session, true)).kind).toBe("not_found");
  expect((await end(other.session, true)).kind).toBe("written");
});

test("a person, removed: the links for and by this person are deleted, the links of a colleague remain", async () => {
  const { one, other } = await seedTwo();
  const third = await seedPerson(db, tenantId, "viewer");
  const invite = async (by: PersonCaller, email: string, userId: PersonCaller["id"] | null) => {
    const created = newInvitation({ tenantId, email, role: "viewer", userId, createdBy: by.id }, seedOrigin(by));
    expect(await insertInvitation(db, created, by, seedOrigin(by))).toEqual({ kind: "written" });
    return created;
  };
  const links = {
    fromRemoved: await invite(other.caller, "a@example.com", null),
    toRemoved: await invite(other.caller, other.caller.user.email, other.caller.id),
    ofColleague: await invite(one.caller, "b@example.com", null),
    toColleague: await invite(one.caller, one.caller.user.email, one.caller.id),
  };
  expect((await deleteUser(db, other.caller, ANY, one.caller, seedOrigin(one.caller))).kind).toBe("written");
  const found = await Promise.all(Object.values(links).map(({ token }) => findInvitation(db, token)));
  expect(found.map((one) => one?.isValid ?? false)).toEqual([false, false, true, true]);
  const left =
    await client`select id from invitations where created_by = ${other.caller.id} or user_id = ${other.caller.id}`;
  expect([...left]).toEqual([]);
  expect(await sessions()).toContain(third.session.id);
});
