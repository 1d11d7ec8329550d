/**
 * Linking and unlinking need a verification by the passkey or the provider within the last five minutes, also when they
 * have to wait.
 */
import { afterAll, expect, test } from "bun:test";
import { whileHeld } from "@realtime-avatar/testing/postgres/waits";
import { startFakeProvider } from "../../test/support/people/fake-provider.ts";
import {
  beginIdentity,
  begunBy,
  dashboardPage,
  endAs,
  readFailure,
  startApiWith,
} from "../../test/support/people/oidc.ts";
import { expireVerification, type Person, seedIdentity, seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const provider = startFakeProvider();
const api = await startApiWith(provider.issuer);
afterAll(() => provider.stop());

const identitiesOf = async (person: Person): Promise<unknown[]> =>
  (await person.call("GET", "/api/v1/identities")).body.data;

test("an account, unlinked within five minutes of the passkey: 200; later: 403", async () => {
  const person = await seedPerson(api, "viewer");
  const id = await seedIdentity(api, person);
  await expireVerification(api.database, person);
  expectProblem(await person.call("DELETE", `/api/v1/identities/${id}`), "passkey_required");
  expect(await identitiesOf(person)).toHaveLength(1);
  const verified = await seedPerson(api, "viewer");
  const path = `/api/v1/identities/${await seedIdentity(api, verified)}`;
  expect((await verified.call("DELETE", path)).status).toBe(200);
  expect(await identitiesOf(verified)).toEqual([]);
});

test("an account, linked after more than five minutes at the provider: refused", async () => {
  const person = await seedPerson(api, "viewer");
  const begun = await beginIdentity(person);
  await expireVerification(api.database, person);
  expect(readFailure(await endAs(api, provider, begun, "too-late"))).toBe("not_verified");
  expect(await identitiesOf(person)).toEqual([]);
});

test("an account, linked after a wait of more than five minutes for a lock: refused", async () => {
  const person = await seedPerson(api, "viewer");
  const begun = await beginIdentity(person);
  const answer = await whileHeld(
    api.database,
    ({ client }) => client`select 1 from users where id = ${person.id} for update`,
    () => endAs(api, provider, begun, "waits"),
    (db) => expireVerification({ db }, person),
  );
  expect(readFailure(answer)).toBe("not_verified");
  expect(await identitiesOf(person)).toEqual([]);
});

test.each([
  ["identity", {}],
  ["verification", { returnTo: "/people" }],
])("POST /api/v1/oidc/%s, with an Idempotency-Key: accepted; malformed or a secret: 400", async (path, body) => {
  const person = await seedPerson(api, "viewer");
  const begin = (key: string) => person.call("POST", `/api/v1/oidc/${path}`, body, { "idempotency-key": key });
  const [first, second] = [begunBy(await begin("again")), begunBy(await begin("again"))];
  expect(first.state).not.toBe(second.state);
  const secret = await api.key();
  for (const key of ["", "a b", "x".repeat(256), secret, person.cookie]) {
    expectProblem(await begin(key), "malformed_request");
  }
});

test("a linked account, listed: shown only to its person", async () => {
  const [person, other] = [await seedPerson(api, "viewer"), await seedPerson(api, "owner")];
  expect(dashboardPage(await endAs(api, provider, await beginIdentity(person), "mine"))).toBe("/people");
  expect(await identitiesOf(person)).toMatchObject([{ issuer: provider.issuer, subject: "mine" }]);
  expect(await identitiesOf(other)).toEqual([]);
});
