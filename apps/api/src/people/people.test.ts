/** Users and passkeys: roles, the last of each, and races. */
import { describe, expect, test } from "bun:test";
import type { TestDb } from "@realtime-avatar/testing/database";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, PUBLIC_URL, startApi } from "../../test/support/api.ts";
import { type Authenticator, createAuthenticator } from "../../test/support/people/authenticator.ts";
import {
  accept,
  expireVerification,
  linkToken,
  type Person,
  seedPerson,
  signedInPerson,
  signIn,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();

const CURRENT = "/api/v1/user-sessions/current";
const usersOf = (person: Person) => `/api/v1/users/${person.id}`;
/** A tenant with this number of owners. */
const seedOwners = async (count: number): Promise<Person[]> => {
  const tenant = await seedTenant(api.database.db);
  return Promise.all(Array.from({ length: count }, () => seedPerson(api, "owner", tenant)));
};

describe("users", () => {
  test("people, changing names and roles: their own name; an owner changes both", async () => {
    const [owner] = (await seedOwners(1)) as [Person];
    const viewer = await seedPerson(api, "viewer", owner.tenantId);
    const renamed = await viewer.call("PATCH", usersOf(viewer), { name: "Grace" });
    expect(renamed.body).toMatchObject({ id: viewer.id, name: "Grace", role: "viewer" });
    expect(renamed.headers.get("etag")).toBe('"2"');
    for (const body of [{ role: "owner" }, { role: "viewer" }, { name: "x", role: "developer" }]) {
      expectProblem(await viewer.call("PATCH", usersOf(viewer), body), "insufficient_role");
    }
    expectProblem(await viewer.call("PATCH", usersOf(owner), { name: "x" }), "insufficient_role");
    const promoted = await owner.call("PATCH", usersOf(viewer), { role: "developer" });
    expect(promoted.body.role).toBe("developer");
    expect((await viewer.call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" })).status).toBe(201);
    const stale = { "if-match": '"1"' };
    expectProblem(await owner.call("PATCH", usersOf(viewer), { role: "viewer" }, stale), "precondition_failed");
    await expireVerification(api.database, owner);
    expectProblem(await owner.call("PATCH", usersOf(viewer), { role: "viewer" }), "passkey_required");
    expectProblem(await owner.call("DELETE", usersOf(viewer)), "passkey_required");
    expect((await owner.call("PATCH", usersOf(viewer), { name: "y" })).status).toBe(200);
  });

  test("a removed person: every request and a sign-in are refused", async () => {
    const [owner] = (await seedOwners(1)) as [Person];
    const person = await seedPerson(api, "developer", owner.tenantId);
    const key = await person.call("POST", "/api/v1/api-keys", { name: "stays", scopes: ["avatars:read"] });
    expect((await owner.call("DELETE", usersOf(person))).body).toMatchObject({ id: person.id, email: person.email });
    expectProblem(await person.call("GET", "/api/v1/avatars"), "invalid_session");
    expectProblem(await signIn(api, person.authenticator), "invalid_passkey");
    expectProblem(await owner.call("GET", usersOf(person)), "not_found");
    // Keys belong to the tenant.
    expect((await api.call("GET", "/api/v1/avatars", { key: key.body.apiKey })).status).toBe(200);
    const { client } = api.database.db;
    for (const table of ["passkeys", "user_sessions"]) {
      expect(await client`select 1 from ${client(table)} where user_id = ${person.id}`).toHaveLength(0);
    }
  });

  test("people of another tenant, read or changed by an owner: 404", async () => {
    const [[owner], [other]] = (await Promise.all([seedOwners(1), seedOwners(1)])) as [[Person], [Person]];
    for (const [method, body] of [["GET"], ["PATCH", { role: "viewer" }], ["DELETE"]] as const) {
      expectProblem(await owner.call(method, usersOf(other), body), "not_found");
    }
    const listed = (await owner.call("GET", "/api/v1/users")).body.data.map(({ id }: { id: string }) => id);
    expect(listed).toEqual([owner.id]);
  });
});

test("the last owner, demoted or removed: 409", async () => {
  const [owner] = (await seedOwners(1)) as [Person];
  expectProblem(await owner.call("PATCH", usersOf(owner), { role: "viewer" }), "last_owner");
  expectProblem(await owner.call("DELETE", usersOf(owner)), "last_owner");
  expect((await owner.call("PATCH", usersOf(owner), { role: "owner", name: "y" })).status).toBe(200);
});

test.each(["DELETE", "PATCH"])("two owners, both leaving at once by %s: one stays", async (method) => {
  const { client } = api.database.db;
  for (let round = 0; round < 4; round++) {
    const owners = await seedOwners(2);
    const body = method === "PATCH" ? { role: "viewer" } : undefined;
    await Promise.all(owners.map((owner) => owner.call(method, usersOf(owner), body)));
    const left = await client`select 1 from users where tenant_id = ${owners[0]?.tenantId ?? ""} and role = 'owner'`;
    expect(left).toHaveLength(1);
  }
});

describe("a change of a person while a write waits", () => {
  const changes: [string, "invalid_session" | "insufficient_role", (person: Person) => string][] = [
    ["the session ends", "invalid_session", ({ sessionId }) => `delete from user_sessions where id = '${sessionId}'`],
    [
      "the role is lowered",
      "insufficient_role",
      ({ id }) => `update users set role = 'viewer', version = version + 1 where id = '${id}'`,
    ],
    [
      "the user is removed",
      "invalid_session",
      ({ id }) =>
        `delete from user_sessions where user_id = '${id}'; delete from passkeys where user_id = '${id}'; delete from users where id = '${id}'`,
    ],
  ];
  const writes: [string, string, object][] = [
    ["POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" }],
    ["POST", "/api/v1/api-keys", { name: "x" }],
    ["POST", "/api/v1/assets/remote", { kind: "image", remoteUrl: "https://example.com/ada.jpg" }],
    ["POST", "/api/v1/invitations", { email: "x@example.com", role: "viewer" }],
  ];

  test.each(changes)("a waiting write of a changed person: no write, when %s", async (_, code, change) => {
    for (const [method, path, body] of writes) {
      const role = path.includes("invitations") ? "owner" : "developer";
      const person = await seedPerson(api, role);
      const count = async () => (await api.database.db.client`select count(*) from audit_events`)[0]?.["count"];
      const before = await count();
      const hold = ({ client }: TestDb) => client.unsafe(change(person));
      expectProblem(await whileHeld(api.database, hold, () => person.call(method, path, body)), code);
      expect(await count()).toBe(before);
    }
  });

  test("a change of role while a write holds the lock: waits for the write", async () => {
    const [owner] = (await seedOwners(1)) as [Person];
    const person = await seedPerson(api, "developer", owner.tenantId);
    const avatar = await person.call("POST", "/api/v1/avatars", { displayName: "x", sourceKind: "image" });
    const path = `/api/v1/avatars/${avatar.body.id}`;
    let demotion: Promise<Answer> | undefined;
    const write = await whileHeld(
      api.database,
      ({ client }) => client`select from avatars where id = ${avatar.body.id} for update`,
      () => person.call("PATCH", path, { displayName: "written" }),
      async () => {
        demotion = owner.call("PATCH", usersOf(person), { role: "viewer" });
      },
    );
    expect([write.status, (await demotion)?.status]).toEqual([200, 200]);
    expectProblem(await person.call("PATCH", path, { displayName: "late" }), "insufficient_role");
  });
});

describe("passkeys", () => {
  const add = async (person: Person, authenticator: Authenticator): Promise<Answer> => {
    const options = await person.call("POST", "/api/v1/passkeys/options", {});
    if (options.status !== 200) return options;
    const credential = authenticator.create(options.body.publicKey);
    return person.call("POST", "/api/v1/passkeys", { credential, name: "Phone" });
  };
  const list = async (person: Person) => (await person.call("GET", "/api/v1/passkeys")).body.data;

  test("passkeys, added, renamed and deleted: allowed, but the last one stays", async () => {
    const person = await seedPerson(api, "viewer");
    const [first] = await list(person);
    expectProblem(await person.call("DELETE", `/api/v1/passkeys/${first.id}`), "last_passkey");
    const phone = createAuthenticator(PUBLIC_URL, { hasCounter: false });
    const added = await add(person, phone);
    expect([added.status, added.body.name]).toEqual([201, "Phone"]);
    expect((await person.call("POST", "/api/v1/passkeys/options", {})).body.publicKey.excludeCredentials).toHaveLength(
      2,
    );
    const bySecond = signedInPerson(api, await signIn(api, phone), phone);
    expect((await signIn(api, phone)).status).toBe(201);
    const path = `/api/v1/passkeys/${added.body.id}`;
    expect((await person.call("PATCH", path, { name: "Old phone" })).body.name).toBe("Old phone");
    expectProblem(await person.call("PATCH", path, { name: "x" }, { "if-match": '"1"' }), "precondition_failed");

    // The phone is lost: deleting its passkey ends its sessions.
    expect((await person.call("DELETE", path)).status).toBe(200);
    expectProblem(await bySecond.call("GET", CURRENT), "invalid_session");
    expectProblem(await signIn(api, phone), "invalid_passkey");
    expect((await person.call("GET", CURRENT)).status).toBe(200);
    expect(await list(person)).toHaveLength(1);
  });

  test("a passkey, changed after the verification has expired: 403; by another person: 404", async () => {
    const [person, owner] = [await seedPerson(api, "developer"), await seedPerson(api, "owner")];
    const [own] = await list(person);
    for (const [method, body] of [["PATCH", { name: "x" }], ["DELETE"]] as const) {
      expectProblem(await owner.call(method, `/api/v1/passkeys/${own.id}`, body), "not_found");
    }
    await expireVerification(api.database, person);
    expectProblem(await add(person, createAuthenticator(PUBLIC_URL)), "passkey_required");
    expectProblem(await person.call("POST", "/api/v1/passkeys/invitations", {}), "passkey_required");
    expectProblem(await person.call("DELETE", `/api/v1/passkeys/${own.id}`), "passkey_required");
  });

  test("two passkeys, both deleted at once: one stays", async () => {
    for (let round = 0; round < 2; round++) {
      const person = await seedPerson(api, "viewer");
      await add(person, createAuthenticator(PUBLIC_URL));
      const both: { id: string }[] = await list(person);
      await Promise.all(both.map(({ id }) => person.call("DELETE", `/api/v1/passkeys/${id}`)));
      expect(await list(person)).toHaveLength(1);
    }
  });

  test("a registration, of another session or used before: refused", async () => {
    const person = await seedPerson(api, "viewer");
    const second = await signInAgain(api, person);
    const { body } = await person.call("POST", "/api/v1/passkeys/options", {});
    const credential = createAuthenticator(PUBLIC_URL).create(body.publicKey);
    const sent = { credential, name: "x" };
    expectProblem(await second.call("POST", "/api/v1/passkeys", sent), "invalid_passkey");
    expect((await person.call("POST", "/api/v1/passkeys", sent)).status).toBe(201);
    expectProblem(await person.call("POST", "/api/v1/passkeys", sent), "invalid_passkey");
    // The same authenticator, with a new challenge.
    expectProblem(await add(person, person.authenticator), "invalid_passkey");
  });

  test("a link for another device, used: registers a passkey for the same person only", async () => {
    const person = await seedPerson(api, "developer");
    const link = async (): Promise<string> => {
      const answer = await person.call("POST", "/api/v1/passkeys/invitations", {});
      expect(answer.status).toBe(201);
      expect(answer.body.url).toStartWith(`${PUBLIC_URL}/dashboard/register#rta_invitation_`);
      return linkToken(answer);
    };
    const device = createAuthenticator(PUBLIC_URL);
    const accepted = await accept(api, await link(), device, "Tablet");
    expect(accepted.body.user).toMatchObject({ id: person.id, role: "developer", name: "Ada" });
    expect((await list(person)).map(({ name }: { name: string }) => name)).toEqual(["Tablet", "First passkey"]);
    const late = await link();
    const owner = await seedPerson(api, "owner");
    expect((await owner.call("DELETE", usersOf(person))).status).toBe(200);
    expectProblem(await accept(api, late), "invalid_invitation");
  });

  test("a link for another device whose passkey or session has ended: refused; after a sign-out: valid", async () => {
    const person = await seedPerson(api, "viewer");
    const another = async () => await signInAgain(api, person);
    const linkOf = async (of: Person): Promise<string> =>
      linkToken(await of.call("POST", "/api/v1/passkeys/invitations", {}));
    const device = createAuthenticator(PUBLIC_URL);
    const thief = signedInPerson(api, await accept(api, await linkOf(person), device), device);
    const lost = (await list(person))[0].id;

    const ofLost = await linkOf(thief);
    expect((await person.call("DELETE", `/api/v1/passkeys/${lost}`)).status).toBe(200);
    expectProblem(await accept(api, ofLost), "invalid_invitation");

    const stolen = await another();
    const ofStolen = await linkOf(stolen);
    expect((await person.call("DELETE", `/api/v1/user-sessions/${stolen.sessionId}`)).status).toBe(200);
    expectProblem(await accept(api, ofStolen), "invalid_invitation");

    const own = await another();
    const ofOwn = await linkOf(own);
    expect((await own.call("DELETE", CURRENT)).status).toBe(200);
    expect((await accept(api, ofOwn)).status).toBe(201);
  });
});
