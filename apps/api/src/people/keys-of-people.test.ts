/** People and their keys and other resources: lineage, environments, replays, and the audit trail. */
import { describe, expect, test } from "bun:test";
import { callAnew, startApi, TEST_CONFIG } from "../../test/support/api.ts";
import {
  expireVerification,
  linkToken,
  type Person,
  pageHeaders,
  seedPerson,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();
let person = await seedPerson(api, "developer");

const KEYS = "/api/v1/api-keys";
const create = (body: object = {}, headers: Record<string, string> = {}, environment: "live" | "test" = "live") =>
  person.call("POST", KEYS, { name: "x", scopes: ["*"], ...body }, headers, environment);
const age = () => expireVerification(api.database, person);
const renew = async () => {
  person = await signInAgain(api, person);
};

describe("keys that a person creates", () => {
  test("a person's key, the session ended: a root key that still works", async () => {
    const { status, body } = await create({ environment: "live" });
    expect(status).toBe(201);
    const [row] = await api.database.db.client`select lineage, environment from api_keys where id = ${body.id}`;
    expect(row).toEqual({ lineage: [], environment: "live" });
    await person.call("DELETE", "/api/v1/user-sessions/current");
    expect((await api.call("GET", "/api/v1/avatars", { key: body.apiKey })).status).toBe(200);
    await renew();
  });

  test("a person's key and an operator's key, changed, rotated and revoked by a person: 200", async () => {
    const root = (await api.call("GET", `${KEYS}/self`, { key: await api.key({ environment: "live", scopes: ["*"] }) }))
      .body;
    for (const { id } of [(await create({ environment: "live" })).body, root]) {
      const path = `${KEYS}/${id}`;
      expect((await person.call("GET", path)).body.id).toBe(id);
      expect((await person.call("PATCH", path, { name: "y" })).body.name).toBe("y");
      // An overlap does not prevent a person from rotating, because rotation recovers from a lost secret.
      for (let turn = 0; turn < 2; turn++) {
        const rotated = await person.call("POST", `${path}/rotate`, { overlapSeconds: 60 });
        expect([rotated.status, typeof rotated.body.apiKey]).toEqual([200, "string"]);
      }
      expect((await person.call("DELETE", path)).body.status).toBe("revoked");
    }
  });

  test("a person's key, live, rotated or widened: needs a recent passkey; other changes do not", async () => {
    const { id } = (await create({ environment: "live", scopes: ["avatars:read"] })).body;
    const path = `${KEYS}/${id}`;
    await age();
    expectProblem(await create({ environment: "live" }), "passkey_required");
    expectProblem(await person.call("POST", `${path}/rotate`, {}), "passkey_required");
    expectProblem(await person.call("PATCH", path, { scopes: ["*"] }), "passkey_required");
    expect((await create({ environment: "test" })).status).toBe(201);
    expect((await person.call("PATCH", path, { name: "z" })).status).toBe(200);
    expect((await person.call("PATCH", path, { spendLimitCreditMicros: 5 })).status).toBe(200);
    expectProblem(await person.call("PATCH", path, { spendLimitCreditMicros: null }), "passkey_required");
    expect((await person.call("DELETE", path)).status).toBe(200);
    await renew();
  });
});

test("a person, in test: live objects are not found, and nothing live is created", async () => {
  const body = { displayName: "x", sourceKind: "image" };
  const [live, test] = [
    await person.call("POST", "/api/v1/avatars", body),
    await person.call("POST", "/api/v1/avatars", body, {}, "test"),
  ];
  expect([live.body.environment, test.body.environment]).toEqual(["live", "test"]);
  expectProblem(await person.call("GET", `/api/v1/avatars/${live.body.id}`, undefined, {}, "test"), "not_found");
  expectProblem(await person.call("GET", `/api/v1/avatars/${test.body.id}`), "not_found");
  const key = (await create({ environment: "live" })).body;
  expectProblem(await person.call("DELETE", `${KEYS}/${key.id}`, undefined, {}, "test"), "not_found");
  expectProblem(await create({ environment: "live" }, {}, "test"), "grant_exceeds_caller");
  expect((await create({ environment: "test" }, {}, "test")).status).toBe(201);
});

describe("an Idempotency-Key of a person", () => {
  test("a secret, repeated with its Idempotency-Key: replayed in the same session and environment only", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await create({ environment: "test" }, headers);
    const again = await create({ environment: "test" }, headers);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
    const inTest = await create({ environment: "test" }, headers, "test");
    expect([inTest.status, inTest.body.id === first.body.id]).toEqual([201, false]);
    const second = await signInAgain(api, person);
    const body = { name: "x", scopes: ["*"], environment: "test" };
    const other = await second.call("POST", KEYS, body, headers);
    expectProblem(other, "replay_unavailable");
    expect(other.headers.get("location")).toBe(`${KEYS}/${first.body.id}`);
    // Another person has separate Idempotency-Keys.
    const foreign = await seedPerson(api, "developer");
    expect((await foreign.call("POST", KEYS, body, headers)).status).toBe(201);
    const [stored] = await api.database.db.client`
      select response_body from idempotency_claims where caller_id = ${person.id} and idempotency_key = 'once'`;
    expect(Buffer.from(stored?.["response_body"]).toString("latin1")).not.toContain(first.body.apiKey);
  });

  test("repeated after the verification has expired: a live secret needs the passkey again, a test key does not", async () => {
    await renew();
    const live = await create({ environment: "live" }, { "idempotency-key": "live" });
    const test = await create({ environment: "test" }, { "idempotency-key": "test" });
    const path = `${KEYS}/${live.body.id}`;
    const rotate = () => person.call("POST", `${path}/rotate`, {}, { "idempotency-key": "rotation" });
    const rotated = await rotate();
    expect(rotated.status).toBe(200);
    // Rotating a test key needs the passkey as well, unlike creating one.
    const rotateTest = () =>
      person.call("POST", `${KEYS}/${test.body.id}/rotate`, {}, { "idempotency-key": "rotation" });
    expect((await rotateTest()).status).toBe(200);
    const again = () => create({ environment: "live" }, { "idempotency-key": "live" });
    await age();
    for (const refused of [await again(), await rotate(), await rotateTest()]) {
      expectProblem(refused, "passkey_required");
      expect(refused.text).not.toMatch(/rta_(live|test)_/);
    }
    expect((await create({ environment: "test" }, { "idempotency-key": "test" })).body).toEqual(test.body);
    // A refusal before the check of the passkey stays the same: a revoked key cannot be rotated.
    expect((await person.call("DELETE", path)).status).toBe(200);
    expectProblem(await rotate(), "passkey_required");
    await api.database.db.client`
      update user_sessions set verified_until = now() + interval '1 minute' where user_id = ${person.id}`;
    expect([(await again()).body, (await rotate()).body]).toEqual([live.body, rotated.body]);
  });

  test("an avatar, repeated with its Idempotency-Key in another session: replayed", async () => {
    const body = { displayName: "x", sourceKind: "image" };
    const headers = { "idempotency-key": "avatar" };
    const first = await person.call("POST", "/api/v1/avatars", body, headers);
    await renew();
    const again = await person.call("POST", "/api/v1/avatars", body, headers);
    expect(again.body).toEqual(first.body);
  });
});

describe("the audit trail", () => {
  test("the trail, after a person's write: names the person", async () => {
    const { body } = await create({ environment: "test" });
    const events = await person.call("GET", `/api/v1/audit-events?targetId=${body.id}`);
    expect(events.body.data).toMatchObject([
      { action: "api_key.created", actorType: "user", actorId: person.id, actorKeyId: null },
    ]);
    const owner = await seedPerson(api, "owner");
    const own = await owner.call("GET", `/api/v1/audit-events?targetId=${owner.id}`);
    expect(own.body.data).toMatchObject([{ action: "user.created", actorType: "user", actorId: owner.id }]);
    // A test key sees no events of people.
    const inTest = await api.call("GET", "/api/v1/audit-events?limit=100", { key: await api.key({ scopes: ["*"] }) });
    expect(inTest.text).not.toContain(owner.id);
  });

  test("the tokens of people, after their requests: in no log line and no row", async () => {
    const owner = await seedPerson(api, "owner");
    const invited = await owner.call("POST", "/api/v1/invitations", { email: "logged@example.com", role: "viewer" });
    const tokens = [person.cookie, linkToken(invited)];
    const secrets = tokens.map((token) => token.split("_").at(-1) ?? "");
    for (const secret of secrets) expect(api.log.join("\n")).not.toContain(secret);
    const answer = await api.call("GET", "/healthz", { headers: { "x-request-id": person.cookie } });
    expect(answer.headers.get("x-request-id")).not.toBe(person.cookie);
  });
});

test("two people, one above the rate: only the requests of this person are refused", async () => {
  const config = { ...TEST_CONFIG, rateLimit: { perSecond: 1, burst: 0 } };
  const call = callAnew(api.database.db, { config });
  const others = [person, await seedPerson(api, "viewer")];
  const ask = ({ cookie }: Person) => call("GET", "/api/v1/users", { headers: pageHeaders(cookie) });
  for (const one of others) expect((await ask(one)).status).toBe(200);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(person)));
  expect(answers.some(({ status }) => status === 429)).toBe(true);
});
