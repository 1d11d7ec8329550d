/** How the server executes the statements and functions of people: by indexes, in tables of many rows, with plans for any values. */
import { expect, test } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import {
  newInvitation,
  newUserSession,
  type PasskeyRecord,
  verifiedUntil,
} from "@realtime-avatar/domain/people/people";
import type { SessionToken } from "@realtime-avatar/domain/people/tokens";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { newChallenge, newPasskey, seedPerson } from "@realtime-avatar/testing/people/seeds";
import { expectIndexed, explainedSession, insertEndpointRows, rowId } from "@realtime-avatar/testing/postgres/plans";
import { random } from "@realtime-avatar/testing/random-bytes";
import { operatorOrigin, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import type { PersonCaller } from "../callers/callers.ts";
import { deleteIdentity, findIdentities, findIdentity, insertIdentity, listIdentities } from "./identities.ts";
import { deleteInvitation, insertInvitation, listInvitations } from "./invitations.ts";
import { deletePasskey, findPasskey, findPasskeys, insertPasskey, listPasskeys, updatePasskey } from "./passkeys.ts";
import { recordPeopleSeen } from "./seen.ts";
import {
  endUserSession,
  findUserSession,
  inEnvironment,
  insertUserSession,
  listUserSessions,
  verifyUserSession,
} from "./user-sessions.ts";
import { deleteUser, findUser, findUserByEmail, listUsers, updateUser } from "./users.ts";

/** The numbers of tenants, each with a person, and of people of the caller's tenant. */
const TENANTS = 1000;
const PEOPLE = 100;
let caller: PersonCaller;
let passkey: PasskeyRecord;
let token: SessionToken;

const page = { before: null, limit: 10, filters: {} };
const ANY = { versions: null };
const ACCOUNT = { issuer: "https://id.example.com", subject: "mine", createdAt: new Date(), lastUsedAt: null };
const lookedUp = async (): Promise<PersonCaller> => {
  const found = await findUserSession(db, token);
  if (!found) throw new Error("no session");
  return inEnvironment(found.person, "live");
};

const database = await fileDatabase();
const { db, plans, explain } = await explainedSession(database.url);
const tenantId = await seedTenant(database.db);
const tenantOf = `case when i <= ${PEOPLE} then '${tenantId}' else ${rowId("ten")} end`;
const all = `from generate_series(1, ${TENANTS}) i`;
await database.db.client.unsafe(`
  insert into tenants (tenant_id, name, created_at) select ${rowId("ten")}, 'n', now() ${all};
  insert into users select ${tenantOf}, ${rowId("usr")}, i || '@example.com', 'n', 'owner', 1, now() ${all};
  insert into passkeys select ${tenantOf}, ${rowId("psk")}, ${rowId("usr")}, sha256(i::text::bytea), 'x', 0, '{}', true, 'n', 1, now(), null ${all};
  insert into user_sessions select ${tenantOf}, ${rowId("uss")}, ${rowId("usr")}, ${rowId("psk")}, sha256('x'), null, 1, now(), now(),
    now() + interval '1 hour' ${all};
  insert into user_identities select ${tenantOf}, ${rowId("idn")}, ${rowId("usr")}, 'https://id.example.com', i::text, now(), null ${all};
  insert into people_seen select ${tenantOf}, ${rowId("usr")}, now() ${all};
  insert into people_seen select ${tenantOf}, ${rowId("uss")}, now() ${all};
  insert into invitations select ${tenantOf}, ${rowId("inv")}, sha256('x'), i || '@example.org', 'owner', null, null, now(),
    now() + interval '1 hour' ${all};
  insert into spent_challenges select ${tenantOf}, substr(sha256(i::text::bytea), 1, 16), now() ${all};
  insert into pending_changes select ${tenantOf}, ${rowId("usr")}, now() - interval '1 hour' ${all};
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body, created_at)
    select ${tenantOf}, ${rowId("usr")}, 'POST /api/v1/invitations live', i::text, ${rowId("aud")}, sha256('x'), 201, '1', 'x', now() ${all};
  ${insertEndpointRows(TENANTS)}
  analyze`);
await explain();
({ passkey, token } = await seedPerson(db, tenantId, "owner"));
caller = await lookedUp();

const assertionOf = () => ({
  ...{ tenantId, passkeyId: passkey.id, userId: caller.id, counter: 0, isBackedUp: true, usedAt: new Date() },
});
const claim = () => ({
  ...{ request: "POST /api/v1/invitations live", idempotencyKey: crypto.randomUUID(), bodyHash: new Uint8Array(32) },
  ...{ status: 201, location: null, etag: "1", responseBody: new Uint8Array(1), sealedFor: null },
});
const invite = (userId: PersonCaller["id"] | null) => {
  const email = userId ? caller.user.email : "new@example.com";
  const fields = { tenantId, email, role: "owner" as const, userId, createdBy: caller.id };
  return insertInvitation(db, newInvitation(fields, operatorOrigin()), caller, seedOrigin(caller), claim());
};
const signIn = async () => {
  const fields = { tenantId, userId: caller.id, passkeyId: passkey.id, userAgent: null };
  const origin = seedOrigin(caller);
  const signedIn = newUserSession(fields, origin);
  expect(await insertUserSession(db, signedIn, assertionOf(), newChallenge(), origin)).toBe(true);
  return signedIn;
};

test.each<[name: string, work: () => Promise<unknown>]>([
  ["the look-up of a session", lookedUp],
  ["a sign-in", signIn],
  [
    "a sign-in beyond the bound",
    async () => {
      for (let count = 0; count < 21; count++) ({ token } = await signIn());
      // The sign-in has ended the session of the caller.
      caller = await lookedUp();
    },
  ],
  [
    "a verification",
    async () => {
      const until = verifiedUntil(new Date());
      const by = await lookedUp();
      expect(
        (await verifyUserSession(db, by, assertionOf(), newChallenge(), until, seedOrigin(by), claim())).kind,
      ).toBe("written");
    },
  ],
  ["the list of sessions of a person", () => listUserSessions(db, caller, false, page)],
  ["the list of sessions of a tenant", () => listUserSessions(db, caller, true, page)],
  [
    "the end of a session",
    async () => {
      const { session: other } = await seedPerson(db, tenantId, "owner");
      const ended = await endUserSession(db, other.id, { ofOthers: true, ...ANY }, caller, seedOrigin(caller));
      expect(ended.kind).toBe("written");
    },
  ],
  ["an invitation", () => invite(null)],
  ["a link for another device", () => invite(caller.id)],
  ["an acceptance", () => seedPerson(db, tenantId, "owner", { createdBy: caller })],
  ["the list of invitations", () => listInvitations(db, caller, page)],
  ["a withdrawal", () => deleteInvitation(db, newId("inv", new Date(), random), caller, seedOrigin(caller))],
  [
    "the look-ups of passkeys",
    async () => {
      expect(await findPasskey(db, tenantId, passkey.credentialId)).not.toBeNull();
      await findPasskeys(db, tenantId, caller.id);
      await listPasskeys(db, passkey, page);
    },
  ],
  [
    "a new passkey, its change and its deletion",
    async () => {
      const added = newPasskey(caller.user);
      expect((await insertPasskey(db, added, newChallenge(), caller, seedOrigin(caller), claim())).kind).toBe(
        "written",
      );
      expect((await updatePasskey(db, added.id, "y", ANY, caller, seedOrigin(caller))).kind).toBe("written");
      expect((await deletePasskey(db, added.id, ANY, caller, seedOrigin(caller))).kind).toBe("written");
    },
  ],
  [
    "a new identity, its look-ups, its use and its deletion",
    async () => {
      const identity = { ...{ tenantId, id: newId("idn", new Date(), random), userId: caller.id }, ...ACCOUNT };
      expect((await insertIdentity(db, identity, newChallenge(), caller, seedOrigin(caller))).kind).toBe("written");
      expect(await findIdentity(db, tenantId, identity)).not.toBeNull();
      expect(await findIdentities(db, tenantId, caller.id)).toHaveLength(1);
      await listIdentities(db, identity, page);
      const fields = { tenantId, userId: caller.id, passkeyId: null, identityId: identity.id, userAgent: null };
      const signedIn = newUserSession(fields, seedOrigin(caller));
      const use = { tenantId, identityId: identity.id, userId: caller.id, usedAt: new Date() };
      expect(await insertUserSession(db, signedIn, use, newChallenge(), seedOrigin(caller))).toBe(true);
      const ended = await deleteIdentity(db, identity.id, ACCOUNT.issuer, caller, seedOrigin(caller));
      expect(ended.kind).toBe("written");
    },
  ],
  [
    "the look-ups of users",
    async () => {
      await findUser(db, tenantId, caller.id);
      await findUserByEmail(db, tenantId, caller.user.email);
      await listUsers(db, caller, page);
    },
  ],
  [
    "the change of a name or a role, and the removal of a user",
    async () => {
      const { user } = await seedPerson(db, tenantId, "owner");
      expect((await updateUser(db, user.id, { name: "y" }, ANY, caller, seedOrigin(caller))).kind).toBe("written");
      expect((await updateUser(db, user.id, { role: "viewer" }, ANY, caller, seedOrigin(caller))).kind).toBe("written");
      expect((await deleteUser(db, user, ANY, caller, seedOrigin(caller))).kind).toBe("written");
      for (const column of ["user", "creator"]) expect(plans.join()).toContain(`using invitations_${column}_index`);
    },
  ],
  ["the times of use", () => recordPeopleSeen(db, [{ tenantId, id: caller.id, usedAt: new Date() }])],
])("the statement for %s, explained: reads no whole table", async (_, work) => {
  plans.length = 0;
  await work();
  expect(plans.length).toBeGreaterThan(0);
  expectIndexed(plans);
});
