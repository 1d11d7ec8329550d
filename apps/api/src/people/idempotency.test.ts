/** `Idempotency-Key` on the POSTs of people. */
import { describe, expect, test } from "bun:test";
import { type Answer, PUBLIC_URL, rowCounts, startApi } from "../../test/support/api.ts";
import { createAuthenticator } from "../../test/support/people/authenticator.ts";
import {
  expireVerification,
  type Person,
  pageHeaders,
  seedPerson,
  signInAgain,
} from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

const api = await startApi();

const VERIFICATION = "user-sessions/current/verification";
const post = (person: Person, path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  person.call("POST", `/api/v1/${path}`, body, headers);
const optionsOf = async (person: Person, path: string) => (await post(person, path, {})).body.publicKey;

/** For each POST of people: a body that an owner can send, and another body for the same operation. */
const BODIES: Record<string, (owner: Person) => Promise<{ body: object; other: object | null }>> = {
  invitations: async () => {
    const email = `${crypto.randomUUID()}@example.com`;
    return { body: { email, role: "viewer" }, other: { email, role: "owner" } };
  },
  "passkeys/invitations": async () => ({ body: {}, other: null }),
  passkeys: async (owner) => {
    const credential = createAuthenticator(PUBLIC_URL).create(await optionsOf(owner, "passkeys/options"));
    return { body: { credential, name: "Phone" }, other: { credential, name: "Laptop" } };
  },
  [VERIFICATION]: async (owner) => {
    const credential = owner.authenticator.get(await optionsOf(owner, `${VERIFICATION}/options`));
    return { body: { credential }, other: { credential: {} } };
  },
};
const PATHS = Object.keys(BODIES);
const LINKS = ["invitations", "passkeys/invitations"];
const bodiesOf = (path: string, owner: Person) => (BODIES[path] as (typeof BODIES)[string])(owner);
const storedOf = async (key: string) =>
  (await api.database.db.client`select * from idempotency_claims where idempotency_key = ${key}`)[0];

describe.each(PATHS)("POST /api/v1/%s with an Idempotency-Key", (path) => {
  test("a POST, repeated with its Idempotency-Key: executed once, its response replayed", async () => {
    const owner = await seedPerson(api, "owner");
    const { body, other } = await bodiesOf(path, owner);
    const key = `${path} once`.replace(" ", "-");
    const headers = { "idempotency-key": key };
    const first = await post(owner, path, body, headers);
    expect([200, 201]).toContain(first.status);
    expect(first.headers.has("idempotent-replayed")).toBe(false);

    const before = await rowCounts(api.database);
    const again = await post(owner, path, body, headers);
    expect([again.status, again.text, again.headers.get("idempotent-replayed")]).toEqual([
      first.status,
      first.text,
      "true",
    ]);
    for (const name of ["etag", "location"]) expect(again.headers.get(name)).toBe(first.headers.get(name));
    if (other !== null) expectProblem(await post(owner, path, other, headers), "idempotency_key_reused");
    expect(await rowCounts(api.database)).toEqual(before);

    // The replay does not depend on the caller's current rights. A link is shown only with the passkey, like in the
    // first response.
    await expireVerification(api.database, owner);
    const later = await post(owner, path, body, headers);
    if (LINKS.includes(path)) expectProblem(later, "passkey_required");
    else expect(later.text).toBe(first.text);
    // In the other environment, it is another request: the challenge is already spent. A link needs the passkey again.
    const elsewhere = await owner.call("POST", `/api/v1/${path}`, body, headers, "test");
    expectProblem(elsewhere, path === VERIFICATION ? "invalid_passkey" : "passkey_required");
  });

  test("a POST, sent six times at once: executed once", async () => {
    const owner = await seedPerson(api, "owner");
    const { body } = await bodiesOf(path, owner);
    const headers = { "idempotency-key": crypto.randomUUID() };
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(owner, path, body, headers)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers: sent }) => sent.get("idempotent-replayed") === null)).toHaveLength(1);
  });

  test("a POST, refused: no stored response; the Idempotency-Key is free", async () => {
    const owner = await seedPerson(api, "owner");
    const { body, other } = await bodiesOf(path, owner);
    const key = crypto.randomUUID();
    const headers = { "idempotency-key": key };
    const refused = path === "passkeys" ? { ...other, credential: {} } : other;
    if (path === "invitations") {
      const member = { email: owner.email, role: "viewer" };
      expectProblem(await post(owner, path, member, headers), "already_member");
    } else if (refused !== null) {
      expectProblem(await post(owner, path, refused, headers), "invalid_passkey");
    }
    expect(await storedOf(key)).toBeUndefined();
    expect((await post(owner, path, body, headers)).status).toBeLessThan(300);
  });

  test("a POST whose Idempotency-Key is malformed or a secret: 400", async () => {
    const owner = await seedPerson(api, "owner");
    for (const key of ["", "a b", "x".repeat(256), owner.cookie]) {
      expectProblem(await post(owner, path, {}, { "idempotency-key": key }), "malformed_request");
    }
  });
});

describe.each(LINKS)("a link in the response of %s", (path) => {
  test("a link, in a stored response: sealed, replayed only in the session that received it", async () => {
    const owner = await seedPerson(api, "owner");
    const { body } = await bodiesOf(path, owner);
    const key = crypto.randomUUID();
    const headers = { "idempotency-key": key };
    const first = await post(owner, path, body, headers);
    const stored = await storedOf(key);
    expect(stored?.["sealed_for"]).toBe(owner.sessionId);
    expect(Buffer.from(stored?.["response_body"]).toString("latin1")).not.toContain("rta_");

    const other = await signInAgain(api, owner);
    const refused = await post(other, path, body, headers);
    expectProblem(refused, "replay_unavailable");
    expect(refused.headers.get("location")).toBe(first.headers.get("location"));

    // An unsealed response was not stored by the service.
    await api.database.db.client`
      update idempotency_claims set response_body = ${Buffer.from('{"url":"https://evil.example"}')}, sealed_for = null
      where idempotency_key = ${key}`;
    expectProblem(await post(owner, path, body, headers), "replay_unavailable");
  });
});

test("the response of a passkey, sent twice without an Idempotency-Key: accepted once", async () => {
  const owner = await seedPerson(api, "owner");
  for (const path of ["passkeys", VERIFICATION]) {
    const { body } = await bodiesOf(path, owner);
    expect((await post(owner, path, body)).status).toBeLessThan(300);
    expectProblem(await post(owner, path, body), "invalid_passkey");
    expectProblem(await post(owner, path, body, { "idempotency-key": crypto.randomUUID() }), "invalid_passkey");
  }
});

test("a verification, repeated in another session: its response is not replayed", async () => {
  const owner = await seedPerson(api, "owner");
  const other = await signInAgain(api, owner);
  const { body } = await bodiesOf(VERIFICATION, owner);
  const headers = { "idempotency-key": crypto.randomUUID() };
  expect((await post(owner, VERIFICATION, body, headers)).body.id).toBe(owner.sessionId);
  expectProblem(await post(other, VERIFICATION, body, headers), "invalid_passkey");
});

test("a demoted owner that repeats an invitation: 403, no stored link", async () => {
  const [owner, other] = [await seedPerson(api, "owner"), await seedPerson(api, "owner")];
  const { body } = await bodiesOf("invitations", owner);
  const headers = { "idempotency-key": crypto.randomUUID() };
  expect((await post(owner, "invitations", body, headers)).status).toBe(201);
  expect((await other.call("PATCH", `/api/v1/users/${owner.id}`, { role: "developer" })).status).toBe(200);
  expectProblem(await post(owner, "invitations", body, headers), "insufficient_role");
});

test.each(["passkeys/options", `${VERIFICATION}/options`])(
  "POST /api/v1/%s, repeated with its Idempotency-Key: a new challenge each time",
  async (path) => {
    const owner = await seedPerson(api, "owner");
    const headers = { ...pageHeaders(owner.cookie), "idempotency-key": "options" };
    const before = await rowCounts(api.database);
    const answers = [await post(owner, path, {}, headers), await post(owner, path, {}, headers)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(answers.map(({ body }) => body.publicKey.challenge)).size).toBe(2);
    expect(await rowCounts(api.database)).toEqual(before);
    expectProblem(await post(owner, path, {}, { "idempotency-key": "a b" }), "malformed_request");
  },
);
