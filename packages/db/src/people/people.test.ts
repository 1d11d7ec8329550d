/** The statements of people, run by a role with only the rights of the service, and the order of their locks. */
import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { newId } from "@realtime-avatar/domain/id";
import { newInvitation, newUserSession, type UserRecord, verifiedUntil } from "@realtime-avatar/domain/people/people";
import type { Role } from "@realtime-avatar/domain/people/roles";
import { session } from "@realtime-avatar/testing/database";
import { fileDatabase, serviceRole } from "@realtime-avatar/testing/fixture";
import { newChallenge, newPasskey, seedPerson } from "@realtime-avatar/testing/people/seeds";
import { untilBlocked } from "@realtime-avatar/testing/postgres/waits";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { auditEvent } from "../audit/audit-events.ts";
import type { PersonCaller } from "../callers/callers.ts";
import {
  deleteInvitation,
  findInvitation,
  insertInvitation,
  listInvitations,
  sweepInvitations,
} from "./invitations.ts";
import {
  deletePasskey,
  findPasskey,
  findPasskeys,
  insertPasskey,
  listPasskeys,
  MAX_PASSKEYS,
  sweepChallenges,
  updatePasskey,
} from "./passkeys.ts";
import { recordPeopleSeen, sweepPeopleSeen } from "./seen.ts";
import {
  endUserSession,
  insertUserSession,
  listUserSessions,
  sweepUserSessions,
  verifyUserSession,
} from "./user-sessions.ts";
import { deleteUser, findUser, findUserByEmail, hasUsers, listUsers, updateUser } from "./users.ts";

const database = await fileDatabase();
/** Connections of a role with only the rights of the service. */
const db = await serviceRole(database);
const tenantId = await seedTenant(database.db);

const page = { before: null, limit: 10, filters: {} };
const ANY = { versions: null };
/** The role may not invite as the operator. */
const seed = (role: Role) => seedPerson(db, tenantId, role, { owner: database.db });

test("the passkeys of a person, up to the limit: written; a further one: over the quota", async () => {
  const { caller } = await seed("owner");
  const add = () => insertPasskey(db, newPasskey(caller.user), newChallenge(), caller, seedOrigin(caller));
  for (let count = 1; count < MAX_PASSKEYS; count++) expect(await add()).toEqual({ kind: "written" });
  expect(await add()).toEqual({ kind: "over_quota" });
});

test("the role: registers, signs in, changes and removes people", async () => {
  const { caller, passkey } = await seed("owner");
  const origin = seedOrigin(caller);
  expect(caller.user).toMatchObject({ name: "Ada", role: "owner" });
  const assertion = {
    tenantId,
    passkeyId: passkey.id,
    userId: caller.id,
    counter: 0,
    isBackedUp: false,
    usedAt: new Date(),
  };
  const signedIn = newUserSession({ tenantId, userId: caller.id, passkeyId: passkey.id, userAgent: "x" }, origin);
  const challenge = newChallenge();
  expect(await insertUserSession(db, signedIn, assertion, challenge, origin)).toBe(true);
  expect(await insertUserSession(db, signedIn, assertion, challenge, origin)).toBe(false);
  const until = verifiedUntil(new Date());
  expect(await verifyUserSession(db, caller, assertion, newChallenge(), until, origin)).toEqual({ kind: "written" });
  await recordPeopleSeen(db, [{ tenantId, id: caller.id, usedAt: new Date() }]);
  await recordPeopleSeen(db, [{ tenantId, id: caller.id, usedAt: new Date(Date.now() + 60_000) }]);

  expect(await hasUsers(db)).toBe(true);
  expect((await findUser(db, tenantId, caller.id))?.email).toBe(caller.user.email);
  expect((await findUserByEmail(db, tenantId, caller.user.email.toUpperCase()))?.id).toBe(caller.id);
  expect((await listUsers(db, caller, page)).items).toContain(caller.id);
  expect((await listUserSessions(db, caller, true, page)).items).toContain(signedIn.session.id);
  expect((await listUserSessions(db, caller, false, page)).items).toContain('"isCurrent":true');
  const ended = await endUserSession(db, signedIn.session.id, { ofOthers: false, ...ANY }, caller, origin);
  expect(ended.kind).toBe("written");

  const second = newPasskey(caller.user);
  expect(await insertPasskey(db, second, newChallenge(), caller, origin)).toEqual({ kind: "written" });
  expect(await findPasskey(db, tenantId, second.credentialId)).toMatchObject({ id: second.id, counter: 0 });
  expect(await findPasskeys(db, tenantId, caller.id)).toHaveLength(2);
  expect((await listPasskeys(db, second, page)).items).toContain(second.id);
  expect((await updatePasskey(db, second.id, "y", ANY, caller, origin)).kind).toBe("written");
  expect((await deletePasskey(db, second.id, ANY, caller, origin)).kind).toBe("written");

  const fields = { tenantId, email: "new@example.com", role: "viewer" as const, userId: null, createdBy: caller.id };
  const invited = newInvitation(fields, origin);
  expect(await insertInvitation(db, invited, caller, origin)).toEqual({ kind: "written" });
  expect((await listInvitations(db, caller, page)).items).toContain(invited.invitation.id);
  expect((await deleteInvitation(db, invited.invitation.id, caller, origin)).kind).toBe("written");

  const { caller: other } = await seed("viewer");
  expect((await updateUser(db, other.id, { role: "developer" }, ANY, caller, origin)).kind).toBe("written");
  expect((await deleteUser(db, other, ANY, caller, origin)).kind).toBe("written");
  for (const sweep of [sweepUserSessions, sweepInvitations, sweepChallenges, sweepPeopleSeen]) {
    expect(await sweep(db)).toBe(0);
  }
});

test("the last-seen times of removed users and sessions: swept after a day, even if written again", async () => {
  const { caller } = await seed("owner");
  const { caller: gone } = await seed("viewer");
  const seen = async () => {
    const ids = [caller.id, caller.sessionId, gone.id, gone.sessionId];
    const rows = await database.db.client`select id from people_seen where id = any(${ids}) order by id`;
    return rows.map(({ id }) => id);
  };
  const usedAt = new Date(Date.now() - 25 * 60 * 60 * 1000);
  const uses = [caller, gone].flatMap(({ id, sessionId }) => [
    { tenantId, id, usedAt },
    { tenantId, id: sessionId, usedAt },
  ]);
  await recordPeopleSeen(db, uses);
  expect((await deleteUser(db, gone, ANY, caller, seedOrigin(caller))).kind).toBe("written");
  expect(await seen()).toEqual([caller.id, caller.sessionId, gone.sessionId].sort());
  // Written by a process that has not noticed the removal.
  await recordPeopleSeen(db, uses);
  expect(await sweepPeopleSeen(db)).toBe(3);
  expect(await seen()).toEqual([caller.id]);
  await recordPeopleSeen(db, [{ tenantId, id: gone.id, usedAt: new Date() }]);
  expect(await sweepPeopleSeen(db)).toBe(0);
});

describe("two invitations of one address", () => {
  const fields = { email: "both@example.com", role: "viewer" as const, userId: null, createdBy: null };
  const create = () => newInvitation({ tenantId, ...fields }, operatorOrigin());
  const insert = (created: ReturnType<typeof create>) => insertInvitation(db, created, null, operatorOrigin());
  const isValid = async ({ token }: ReturnType<typeof create>) => (await findInvitation(db, token))?.isValid ?? false;

  test.each([false, true])(
    "two invitations, created at once: only the last is valid; with an earlier invitation: %p",
    async (isAnother) => {
      if (isAnother) await insert(create());
      const [first, second] = [create(), create()];
      // Writes like the first invitation, before its commit.
      const other = session(database.url);
      await other.client`begin`;
      await other.client`
      insert into invitations
      values (${tenantId}, ${first.invitation.id}, ${randomBytes(32)}, ${fields.email}, 'viewer', null, null, now(), now())
      on conflict (tenant_id, email) do update set id = excluded.id`;
      const pending = insert(second);
      await untilBlocked(database.db);
      await other.client`commit`;
      expect(await pending).toEqual({ kind: "written" });
      expect(await isValid(second)).toBe(true);
      const rows = await database.db.client`select id from invitations where email = ${fields.email}`;
      expect(rows.map(({ id }) => id)).toEqual([second.invitation.id]);
      await other.close();
    },
  );

  test("sixteen invitations of one address, created at once: one is valid", async () => {
    const all = Array.from({ length: 16 }, create);
    const outcomes = await Promise.all(all.map(insert));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["written"]));
    const valid = await Promise.all(all.map(isValid));
    expect(valid.filter(Boolean)).toHaveLength(1);
  });
});

describe("concurrent changes of people", () => {
  test("concurrent changes of people, in random order: all end without a deadlock", async () => {
    const owners = await Promise.all(Array.from({ length: 4 }, () => seed("owner")));
    const outcomes: string[] = [];
    const note = async (change: Promise<{ kind: string }>) => void outcomes.push((await change).kind);
    for (let round = 0; round < 25; round++) {
      await Promise.all(
        owners.flatMap(({ caller, passkey }, index) => {
          const other = owners[(index + 1) % owners.length]?.caller as PersonCaller;
          const origin = seedOrigin(caller);
          return [
            note(updateUser(db, other.id, { name: `${round}` }, ANY, caller, origin)),
            note(updatePasskey(db, passkey.id, `${round}`, ANY, caller, origin)),
            note(insertPasskey(db, newPasskey(caller.user), newChallenge(), caller, origin)),
            note(endUserSession(db, newId("uss", origin.now, random), { ofOthers: true, ...ANY }, caller, origin)),
          ];
        }),
      );
      // Looks up the users again, because with their old versions every write would be stale.
      for (const owner of owners) {
        const user = (await findUser(db, tenantId, owner.caller.id)) as UserRecord;
        owner.caller = { ...owner.caller, user, version: user.version };
      }
    }
    expect(new Set(outcomes)).toEqual(new Set(["written", "stale", "over_quota", "not_found"]));
  });

  test("a change by a person: its event names the person", async () => {
    const { caller } = await seed("owner");
    const event = auditEvent("user.updated", { tenantId, environment: "live", id: caller.id }, seedOrigin(caller));
    expect([event.actorId, event.actorKeyId]).toEqual([caller.id, null]);
  });
});
