/**
 * The values that a write of a person checks again under its locks. `bun run test:mutations` runs this file on
 * functions without one of these checks.
 */
import { describe, expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import { newInvitation, newUserSession, type PasskeyRecord } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { session, type TestDb } from "@realtime-avatar/testing/database";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { newChallenge, newIdentity, newPasskey } from "@realtime-avatar/testing/people/seeds";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { PersonCaller } from "../callers/callers.ts";
import { deleteIdentity, insertIdentity } from "./identities.ts";
import { acceptInvitation, findInvitation, insertInvitation } from "./invitations.ts";
import { updatePasskey } from "./passkeys.ts";
import { findUserSession, inEnvironment, insertUserSession, MAX_SESSIONS } from "./user-sessions.ts";
import { updateUser } from "./users.ts";

const database = await fileDatabase();
const { db } = database;
await mutate(db);
let tenantId = await seedTenant(db);

const ANY = { versions: null };
let people = 0;
const invite = async (person: PersonCaller | null, role: Role = "viewer") => {
  const email = person?.user.email ?? `p${++people}@example.com`;
  const userId = person?.id ?? null;
  const created = newInvitation({ tenantId, email, role, userId, createdBy: null }, operatorOrigin());
  expect(await insertInvitation(db, created, null, operatorOrigin())).toEqual({ kind: "written" });
  const invitation = await findInvitation(db, created.token);
  if (!invitation) throw new Error("no invitation");
  return invitation;
};
/** Accepts an invitation, like a request that has looked it up. */
const accept = async (invitation: Awaited<ReturnType<typeof invite>>, on: TestDb = db) => {
  const origin = operatorOrigin();
  const { email, role } = invitation;
  const id = invitation.userId ?? newId("usr", origin.now, random);
  const user = { tenantId, id, email, name: "x", role, version: 1, createdAt: origin.now, lastSeenAt: null };
  const passkey = newPasskey({ tenantId, id });
  const signedIn = newUserSession({ tenantId, userId: id, passkeyId: passkey.id, userAgent: null }, origin);
  const acceptance = { ...signedIn, user: invitation.userId ? null : user, passkey, challenge: newChallenge() };
  return { ...(await acceptInvitation(on, invitation, acceptance, origin)), token: signedIn.token, passkey };
};
const seedPerson = async (role: Role) => {
  const { kind, token, passkey } = await accept(await invite(null, role));
  const found = await findUserSession(db, token);
  if (kind !== "written" || !found) throw new Error("no person");
  return { caller: inEnvironment(found.person, "live"), passkey };
};

/** Writes of a person, one for each way in which a write locks its caller. */
const WRITES: Record<string, (caller: PersonCaller, passkey: PasskeyRecord) => Promise<{ kind: string }>> = {
  "the change of a passkey's name": (caller, { id }) => updatePasskey(db, id, "y", ANY, caller, seedOrigin(caller)),
  "another name": (caller) => updateUser(db, caller.id, { name: "y" }, ANY, caller, seedOrigin(caller)),
  "an invitation": (caller) => {
    const email = `${crypto.randomUUID()}@example.com`;
    const fields = { tenantId, email, role: "viewer" as const, userId: null, createdBy: caller.id };
    return insertInvitation(db, newInvitation(fields, operatorOrigin()), caller, seedOrigin(caller));
  },
  "a further identity": (caller) => insertIdentity(db, newIdentity(caller), newChallenge(), caller, seedOrigin(caller)),
  "the deletion of an identity": async (caller) => {
    const { tenantId: of, id, userId, issuer, subject } = newIdentity(caller);
    await db.client`
      insert into user_identities (tenant_id, id, user_id, issuer, subject, created_at)
      values (${of}, ${id}, ${userId}, ${issuer}, ${subject}, now())`;
    const { kind } = await deleteIdentity(db, id, issuer, caller, seedOrigin(caller));
    return { kind };
  },
};
const CHANGES: Record<string, (caller: PersonCaller) => string> = {
  "has ended": ({ sessionId }) => `delete from user_sessions where id = '${sessionId}'`,
  "has expired": ({ sessionId }) =>
    `update user_sessions set expires_at = clock_timestamp() - interval '1 second' where id = '${sessionId}'`,
  "belongs to a person with another role": ({ id }) =>
    `update users set role = 'viewer', version = 2 where id = '${id}'`,
};

describe.each(Object.keys(WRITES))("%s", (name) => {
  const write = WRITES[name] as (typeof WRITES)[string];

  test.each(Object.entries(CHANGES))("a write whose session or person has changed: stale: %s", async (_, change) => {
    const { caller, passkey } = await seedPerson("owner");
    await db.client.unsafe(change(caller));
    expect(await write(caller, passkey)).toEqual({ kind: "stale" });
  });

  test("a write that needs the passkey, whose last use is too long ago: stale", async () => {
    const { caller, passkey } = await seedPerson("owner");
    await db.client`update user_sessions set verified_until = clock_timestamp() - interval '1 second' where id = ${caller.sessionId}`;
    expect(await write({ ...caller, needsPasskey: true }, passkey)).toEqual({ kind: "stale" });
    expect((await write(caller, passkey)).kind).toBe("written");
  });
});

describe("a link of a person", () => {
  test("a link, accepted twice: accepted once", async () => {
    const invitation = await invite((await seedPerson("viewer")).caller);
    expect((await accept(invitation)).kind).toBe("written");
    expect((await accept(invitation)).kind).toBe("invalid_invitation");
  });

  test("a link, accepted twice at once: accepted once", async () => {
    const invitation = await invite((await seedPerson("viewer")).caller);
    const other = session(database.url);
    await other.client`begin`;
    expect((await accept(invitation, other)).kind).toBe("written");
    const second = accept(invitation);
    await Promise.race([untilBlocked(db), second]);
    await other.client`commit`;
    expect((await second).kind).toBe("invalid_invitation");
    await other.close();
  });
});

test("a challenge, used twice: accepted once", async () => {
  const { caller, passkey } = await seedPerson("viewer");
  const challenge = newChallenge();
  const signIn = () => {
    const fields = { tenantId, userId: caller.id, passkeyId: passkey.id, userAgent: null };
    const assertion = { ...{ tenantId, passkeyId: passkey.id, userId: caller.id }, counter: 0, isBackedUp: true };
    const used = { ...assertion, usedAt: new Date() };
    return insertUserSession(db, newUserSession(fields, seedOrigin(caller)), used, challenge, seedOrigin(caller));
  };
  expect([await signIn(), await signIn()]).toEqual([true, false]);
});

test("two owners who demote themselves at once: one stays an owner", async () => {
  const own = await seedTenant(db);
  const before = tenantId;
  tenantId = own;
  const [first, second] = [await seedPerson("owner"), await seedPerson("owner")];
  tenantId = before;
  const demote = (on: TestDb, { caller }: typeof first) =>
    updateUser(on, caller.id, { role: "viewer" }, ANY, caller, seedOrigin(caller));
  const other = session(database.url);
  await other.client`begin`;
  expect((await demote(other, first)).kind).toBe("written");
  const pending = demote(db, second);
  await Promise.race([untilBlocked(db), pending]);
  await other.client`commit`;
  expect((await pending).kind).toBe("last_owner");
  await other.close();
});

test("a person who signs in more often than the bound: the sessions stay within the bound", async () => {
  const { caller, passkey } = await seedPerson("viewer");
  for (let count = 0; count < MAX_SESSIONS; count++) {
    const fields = { tenantId, userId: caller.id, passkeyId: passkey.id, userAgent: null };
    const assertion = { ...{ tenantId, passkeyId: passkey.id, userId: caller.id }, counter: 0, isBackedUp: true };
    const used = { ...assertion, usedAt: new Date() };
    await insertUserSession(db, newUserSession(fields, seedOrigin(caller)), used, newChallenge(), seedOrigin(caller));
  }
  const [row] = await db.client`select count(*)::integer as count from user_sessions where user_id = ${caller.id}`;
  expect(row?.["count"]).toBe(MAX_SESSIONS);
});
