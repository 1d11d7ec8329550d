/**
 * The database's clock decides about sessions, the last use of a passkey, and links. The clock of a replica may be
 * wrong.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { callAnew, startApi, type TestApi } from "../../test/support/api.ts";
import {
  accept,
  expireVerification,
  linkToken,
  newCredential,
  type Person,
  seedIdentity,
  seedPerson,
  signedInPerson,
  signIn,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const MINUTE = 60_000;
const CURRENT = "/api/v1/user-sessions/current";
const api = await startApi();

const databaseTime = async (): Promise<number> =>
  (await api.database.db.client`select clock_timestamp() as now`)[0]?.["now"].getTime();
/** A replica whose clock differs. */
const replicaAt = (offset: number): TestApi => {
  const call = callAnew(api.database.db, { clock: () => new Date(Date.now() + offset) });
  return { ...api, call };
};
/** Expects that `time` is `milliseconds` after a moment between `before` and `after`, to the precision of a column. */
const expectBetween = (time: string | Date, milliseconds: number, [before, after]: [number, number]): void => {
  const at = new Date(time).getTime() - milliseconds;
  expect([at >= before - 1, at <= after + 1]).toEqual([true, true]);
};
const timed = async <Result>(work: () => Promise<Result>): Promise<[Result, [number, number]]> => {
  const before = await databaseTime();
  const result = await work();
  return [result, [before, await databaseTime()]];
};

describe.each([-45, 45])("a replica whose clock is wrong by %d minutes", (minutes) => {
  const replica = replicaAt(minutes * MINUTE);
  let person: Person;
  beforeAll(async () => {
    person = await seedPerson(replica, "owner");
  });
  const set = (column: string, value: string) =>
    api.database.db.client.unsafe(`update user_sessions set ${column} = ${value} where id = '${person.sessionId}'`);
  const renew = async () => {
    person = await signInAgain(replica, person);
  };

  test("a session, begun on this replica: the usual lifetime, valid on both replicas", async () => {
    const [answer, during] = await timed(() => signIn(replica, person.authenticator));
    expect(answer.status).toBe(201);
    const { id, expiresAt, verifiedUntil } = answer.body;
    const [row] = await api.database.db.client`select created_at from user_sessions where id = ${id}`;
    expectBetween(row?.["created_at"], 0, during);
    expectBetween(expiresAt, 12 * 60 * MINUTE, during);
    expectBetween(verifiedUntil, 5 * MINUTE, during);
    for (const at of [api, replica]) {
      expect((await signedInPerson(at, answer, person.authenticator).call("GET", CURRENT)).status).toBe(200);
    }
  });

  test("a verification, on this replica: valid for five minutes", async () => {
    const { publicKey } = (await person.call("POST", `${CURRENT}/verification/options`, {})).body;
    const credential = person.authenticator.get(publicKey);
    const [verified, during] = await timed(() => person.call("POST", `${CURRENT}/verification`, { credential }));
    expectBetween(verified.body.verifiedUntil, 5 * MINUTE, during);
    const [row] = await api.database.db.client`select verified_until from user_sessions where id = ${person.sessionId}`;
    expectBetween(row?.["verified_until"], 5 * MINUTE, during);
  });

  test("a link, made on this replica: valid for 30 minutes", async () => {
    const email = `clock-${minutes}@example.com`;
    const [invited, during] = await timed(() => person.call("POST", "/api/v1/invitations", { email, role: "viewer" }));
    expectBetween(invited.body.expiresAt, 30 * MINUTE, during);
    const token = linkToken(invited);
    await api.database.db
      .client`update invitations set expires_at = now() - interval '1 second' where email = ${email}`;
    expectProblem(await accept(replica, token), "invalid_invitation");
    await api.database.db
      .client`update invitations set expires_at = now() + interval '1 minute' where email = ${email}`;
    expect((await accept(replica, token)).status).toBe(201);
  });

  test("an operation, after the verification has expired by the database's clock: 403; before: 201", async () => {
    const body = { email: `asks-${minutes}@example.com`, role: "viewer" };
    await set("verified_until", "now()");
    expectProblem(await person.call("POST", "/api/v1/invitations", body), "passkey_required");
    await set("verified_until", "now() + interval '1 minute'");
    expect((await person.call("POST", "/api/v1/invitations", body)).status).toBe(201);
  });

  test.each([
    ["expires_at", "now()"],
    ["created_at", "now() - interval '30 minutes'"],
  ])("a session, expired by the database's clock: 401: %s = %s", async (column, value) => {
    await set(column, value);
    await api.database.db.client`delete from people_seen`;
    expectProblem(await person.call("GET", CURRENT), "invalid_session");
    expectProblem(await person.call("PATCH", `/api/v1/users/${person.id}`, { name: "x" }), "invalid_session");
    await renew();
  });
});

describe("a write that waits until its verification has expired", () => {
  const whileVerificationEnds = <Result>(person: Person, send: () => Promise<Result>): Promise<Result> =>
    whileHeld(
      api.database,
      ({ client }) => client`select 1 from users where id = ${person.id} for update`,
      send,
      (db) => expireVerification({ db }, person),
    );
  const email = "waits@example.com";
  const keyOf = async () =>
    (await seedKey(api.database.db, api.tenantId, { environment: "live", scopes: ["avatars:read"] })).record.id;
  const writes: [name: string, (person: Person) => Promise<[method: string, path: string, body?: object]>][] = [
    ["a live key", async () => ["POST", "api-keys", { name: "x", environment: "live" }]],
    ["a rotation", async () => ["POST", `api-keys/${await keyOf()}/rotate`, {}]],
    ["a wider key", async () => ["PATCH", `api-keys/${await keyOf()}`, { scopes: ["*"] }]],
    ["an invitation", async () => ["POST", "invitations", { email, role: "viewer" }]],
    ["a link for another device", async () => ["POST", "passkeys/invitations", {}]],
    [
      "a passkey",
      async (person) => {
        return ["POST", "passkeys", { credential: await newCredential(person), name: "x" }];
      },
    ],
    [
      "the end of a passkey",
      async (person) => ["DELETE", `passkeys/${(await person.call("GET", "/api/v1/passkeys")).body.data[0].id}`],
    ],
    ["the end of an identity", async (person) => ["DELETE", `identities/${await seedIdentity(api, person)}`]],
    ["a role", async () => ["PATCH", `users/${(await seedPerson(api, "viewer")).id}`, { role: "owner" }]],
    ["a removal", async () => ["DELETE", `users/${(await seedPerson(api, "viewer")).id}`]],
  ];

  test.each(writes)("a write, waiting beyond its verification: refused without a write: %s", async (_, prepare) => {
    const person = await seedPerson(api, "owner");
    const [method, path, body] = await prepare(person);
    const events = () => api.database.db.client`select id from audit_events where actor_id = ${person.id} order by id`;
    const before = await events();
    const answer = await whileVerificationEnds(person, () => person.call(method, `/api/v1/${path}`, body));
    expectProblem(answer, "passkey_required");
    expect(await events()).toEqual(before);
  });

  test("a write that needs no passkey, in the same batch: written", async () => {
    const person = await seedPerson(api, "owner");
    const create = (environment: string) => person.call("POST", "/api/v1/api-keys", { name: environment, environment });
    const answers = await whileVerificationEnds(person, () =>
      Promise.all(["live", "test", "test", "live"].map(create)),
    );
    expect(answers.map(({ status }) => status)).toEqual([403, 201, 201, 403]);
  });
});

test("a challenge, expired an hour ago, on a replica with a slow clock: refused", async () => {
  const replica = replicaAt(-70 * MINUTE);
  const person = await seedPerson(api, "viewer");
  expectProblem(await signIn(replica, person.authenticator), "invalid_passkey");
  expect((await signIn(api, person.authenticator)).status).toBe(201);
});
