/**
 * Checks the operations of people against the OpenAPI document, like `conformance.test.ts`. Generates requests from the
 * document, and compares every response with it. LONG generates more requests for each property.
 */
import { describe, expect } from "bun:test";
import { newId } from "@realtime-avatar/domain/id";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { createTestApp, PUBLIC_URL, startApi, TEST_CONFIG, testStorage } from "../support/api.ts";
import { type Answer, document, one, operationsOfPeople, type Sent, sendTo } from "../support/openapi/conformance.ts";
import { describeOperation, newRecord } from "../support/openapi/describe-operation.ts";
import { type Described, resolved } from "../support/openapi/openapi.ts";
import { createAuthenticator } from "../support/people/authenticator.ts";
import { inviteByOperator, type Person, pageHeaders, seedPerson, signInAgain } from "../support/people/people.ts";

/** Limits that are never reached, so that responses have their headers. */
const config = { ...TEST_CONFIG, rateLimit: { perSecond: 1_000_000, burst: 1 }, tenantRateLimit: null };
const api = await startApi(testStorage, { config });
const owner = await seedPerson(api, "owner");
const viewer = await seedPerson(api, "viewer");
await api.database.db.client`update user_sessions set verified_until = expires_at`;

const { test, note, testAllSeen } = newRecord();
const isOpen = ({ operation }: Described): boolean => operation.security.length === 0;

/** Sends a request of a person, by default of the owner, and checks the response against the document. */
const send = async (described: Described, sent: Sent & { by?: Person } = {}, app = api.app): Promise<Answer> => {
  const { operationId } = described.operation;
  const { by = owner, headers, ...rest } = sent;
  const cookie = operationId === "endCurrentUserSession" && by === owner ? (await freshSession()).cookie : by.cookie;
  const ofPage = isOpen(described) || sent.key !== undefined ? {} : pageHeaders(cookie);
  return note(described, await sendTo(app, described, { ...rest, headers: { ...ofPage, ...headers } }));
};
const freshSession = async (): Promise<Person> => await signInAgain(api, owner);

/** The id of a new resource that an operation can use; empty for a path without an id. */
const freshId = async ({ path }: Described, of: Person = owner): Promise<string> => {
  if (!path.includes("{id}")) return "";
  const { client } = api.database.db;
  const now = new Date();
  if (path.includes("/users/")) {
    const id = newId("usr", now, random);
    await client`insert into users select tenant_id, ${id}, ${id}, 'x', 'viewer', 1, now() from users where id = ${owner.id}`;
    return id;
  }
  if (path.includes("/user-sessions/")) {
    const id = newId("uss", now, random);
    await client`
      insert into user_sessions select tenant_id, ${id}, user_id, passkey_id, digest, 'x', 1, now(), now(), expires_at
      from user_sessions where id = ${owner.sessionId}`;
    return id;
  }
  if (path.includes("/passkeys/")) {
    const id = newId("psk", now, random);
    await client`
      insert into passkeys select tenant_id, ${id}, user_id, ${Buffer.from(id)}, public_key, 0, '{}', true, 'x', 1, now(), null
      from passkeys where user_id = ${owner.id} limit 1`;
    return id;
  }
  if (path.includes("/identities/")) {
    const id = newId("idn", now, random);
    await client`
      insert into user_identities select tenant_id, ${id}, id, 'https://id.example.com', ${id}, now(), null
      from users where id = ${of.id}`;
    return id;
  }
  const invited = await owner.call("POST", "/api/v1/invitations", {
    email: `${now.getTime()}${crypto.randomUUID()}@x.y`,
    role: "viewer",
  });
  return invited.body.id;
};

describe.each(operationsOfPeople.map((described) => [described.operation.operationId, described] as const))(
  "%s",
  (_, described) => {
    const example = described.operation.requestBody?.content["application/json"]?.example;
    describeOperation(described, { test, send, freshId });

    test("a malformed Host, or another origin: the documented problem", async () => {
      const id = await freshId(described);
      expect((await send(described, { id, body: example, headers: { host: "a b" } })).code).toBe("malformed_request");
      const foreign = await send(described, { id, body: example, headers: { origin: "https://evil.test" } });
      expect(foreign.code).toBe(isOpen(described) ? "foreign_origin" : "missing_api_key");
    });

    if (isOpen(described)) {
      test("requests, 61 from one network: 429 for the last", async () => {
        const headers = { "x-forwarded-for": `192.0.2.${operationsOfPeople.indexOf(described)}` };
        const app = createTestApp(api.database.db, { config });
        const codes = [];
        for (let sent = 0; sent < 61; sent++) codes.push((await send(described, { body: example, headers }, app)).code);
        expect(codes.indexOf("rate_limited")).toBe(60);
      });
      return;
    }

    test("a caller, of every kind and role: the documented response", async () => {
      const id = await freshId(described);
      const keyOf = async (request: Parameters<typeof seedKey>[2]) => seedKey(api.database.db, api.tenantId, request);
      const valid = await keyOf({ environment: "live", scopes: ["*"] });
      const revoked = await keyOf({});
      await api.database.db.client`update api_keys set revoked_at = now() where id = ${revoked.record.id}`;
      const expired = await keyOf({ expiresAt: "2020-01-01T00:00:00Z" });
      const codeOf = async (key: string | null) => (await send(described, { id, key, body: example })).code;
      expect(await codeOf(null)).toBe("missing_api_key");
      expect(await codeOf("nonsense")).toBe("invalid_api_key");
      expect(await codeOf(revoked.secret.reveal())).toBe("revoked_api_key");
      expect(await codeOf(expired.secret.reveal())).toBe("expired_api_key");
      expect(await codeOf(valid.secret.reveal())).toBe("insufficient_role");
      const ended = { ...owner, cookie: `${owner.cookie.slice(0, -1)}${owner.cookie.endsWith("0") ? "1" : "0"}` };
      expect((await send(described, { id, body: example, by: ended })).code).toBe("invalid_session");
      const limited = createTestApp(api.database.db, { config: { ...config, rateLimit: { perSecond: 1, burst: 0 } } });
      // A window can end between two requests.
      while ((await send(described, { id, body: example }, limited)).code !== "rate_limited");
    });

    if (described.method === "PATCH" || described.method === "DELETE") {
      test("an old version, sent as If-Match: 412", async () => {
        const sent = { id: await freshId(described), body: example, headers: { "if-match": '"999"' } };
        expect((await send(described, sent)).code).toBe("precondition_failed");
      });
    }
  },
);

describe("responses that need several requests", () => {
  const post = (operationId: string, body: object, headers = {}, by = owner) =>
    send(one(operationId), { body, headers, by });
  const optionsOf = async (operationId: string, body: object = {}) =>
    JSON.parse((await post(operationId, body)).text).publicKey;
  const key = (name: string) => ({ "idempotency-key": name });

  test("an invitation, from its link to its acceptance: the documented responses", async () => {
    const body = { email: "new@example.com", role: "viewer" };
    const first = await post("createInvitation", body, key("a"));
    expect((await post("createInvitation", body, key("a"))).text).toBe(first.text);
    expect((await post("createInvitation", { ...body, role: "owner" }, key("a"))).code).toBe("idempotency_key_reused");
    expect((await post("createInvitation", body, key("a"), await freshSession())).code).toBe("replay_unavailable");
    expect((await post("createInvitation", { ...body, email: owner.email })).code).toBe("already_member");
    const token = JSON.parse(first.text).url.split("#")[1];
    expect((await send(one("listInvitations"), { query: "limit=1" })).status).toBe(200);
    const publicKey = await optionsOf("beginInvitation", { token });
    const credential = createAuthenticator(PUBLIC_URL).create(publicKey);
    expect((await post("acceptInvitation", { token, name: "x", credential: {} })).code).toBe("invalid_passkey");
    expect((await post("acceptInvitation", { token, name: "x", credential })).status).toBe(201);
    expect((await post("beginInvitation", { token })).code).toBe("invalid_invitation");

    const late = await inviteByOperator(api, { email: "late@example.com", role: "viewer" });
    const created = createAuthenticator(PUBLIC_URL).create(await optionsOf("beginInvitation", { token: late }));
    await api.database.db.client`update users set email = 'late@example.com' where email = 'new@example.com'`;
    const refused = await post("acceptInvitation", { token: late, name: "x", credential: created });
    expect(refused.code).toBe("already_member");
  });

  test("passkeys, added, too many, and the last one deleted: the documented responses", async () => {
    const person = await seedPerson(api, "owner");
    const options = JSON.parse((await post("beginPasskey", {}, {}, person)).text).publicKey;
    const body = { name: "x", credential: createAuthenticator(PUBLIC_URL).create(options) };
    const first = await post("createPasskey", body, key("b"), person);
    expect([first.status, (await post("createPasskey", body, key("b"), person)).text]).toEqual([201, first.text]);
    expect((await post("createPasskey", { ...body, name: "y" }, key("b"), person)).code).toBe("idempotency_key_reused");
    expect((await post("createPasskey", body, {}, person)).code).toBe("invalid_passkey");
    const link = await post("createPasskeyInvitation", {}, key("c"), person);
    expect((await post("createPasskeyInvitation", {}, key("c"), person)).text).toBe(link.text);
    const other = await signInAgain(api, person);
    expect((await post("createPasskeyInvitation", {}, key("c"), other)).code).toBe("replay_unavailable");

    await api.database.db.client`
      insert into passkeys select tenant_id, 'psk_' || lpad(at::text, 26, '0'), user_id, at::text::bytea, public_key, 0, '{}', true, 'x', 1, now(), null
      from passkeys, generate_series(1, 18) at where id = ${JSON.parse(first.text).id}`;
    const more = JSON.parse((await post("beginPasskey", {}, {}, person)).text).publicKey;
    const credential = createAuthenticator(PUBLIC_URL).create(more);
    expect((await post("createPasskey", { name: "x", credential }, {}, person)).code).toBe("quota_exceeded");
    const token = JSON.parse(link.text).url.split("#")[1];
    const created = createAuthenticator(PUBLIC_URL).create(await optionsOf("beginInvitation", { token }));
    expect((await post("acceptInvitation", { token, name: "x", credential: created })).code).toBe("quota_exceeded");

    const [passkey] = await api.database.db.client`select id from passkeys where user_id = ${viewer.id}`;
    await api.database.db.client`update user_sessions set verified_until = expires_at`;
    const last = await send(one("deletePasskey"), { id: passkey?.["id"], by: viewer });
    expect(last.code).toBe("last_passkey");
    // The person has only an identity.
    await api.database.db.client`delete from passkeys where user_id = ${person.id}`;
    const id = await freshId(one("deleteIdentity"), person);
    expect((await send(one("deleteIdentity"), { id, by: person })).code).toBe("last_passkey");
  });

  test("sessions, a sign-in, a verification and refusals: the documented responses", async () => {
    const credential = owner.authenticator.get(await optionsOf("beginSignIn"));
    expect((await post("signIn", { credential })).status).toBe(201);
    expect((await post("signIn", { credential })).code).toBe("invalid_passkey");
    const body = { credential: owner.authenticator.get(await optionsOf("beginVerification")) };
    const first = await post("verifyUserSession", body, key("d"));
    expect((await post("verifyUserSession", body, key("d"))).text).toBe(first.text);
    expect((await post("verifyUserSession", { credential: {} }, key("d"))).code).toBe("idempotency_key_reused");
    expect((await post("verifyUserSession", body)).code).toBe("invalid_passkey");
    expect((await send(one("getCurrentUserSession"))).status).toBe(200);
  });

  test("the last owner, and a missing verification, where documented: 409, and 403", async () => {
    await api.database.db.client`update users set role = 'developer', version = version + 1 where id <> ${owner.id}`;
    await api.database.db.client`update user_sessions set verified_until = expires_at`;
    expect((await send(one("updateUser"), { id: owner.id, body: { role: "viewer" } })).code).toBe("last_owner");
    expect((await send(one("deleteUser"), { id: owner.id })).code).toBe("last_owner");
    await api.database.db.client`update user_sessions set verified_until = now() - interval '1 second'`;
    for (const described of operationsOfPeople) {
      const { operation } = described;
      const example = operation.requestBody?.content["application/json"]?.example;
      const body = operation.operationId === "updateUser" ? { role: "viewer" } : example;
      const { code } = await send(described, { id: await freshId(described), body });
      const documented = JSON.stringify(resolved(document, operation.responses[403] ?? {})).includes(
        "passkey_required",
      );
      expect([operation.operationId, code === "passkey_required"]).toEqual([operation.operationId, documented]);
    }
  });

  // Problems that need a defect of the service or a broken database: tests of faults have them. For a sign-in whose
  // session has ended at once: session-bounds.test.ts.
  const UNSEEN: readonly ProblemCode[] = ["internal_error", "outcome_unknown", "unavailable"];

  testAllSeen(operationsOfPeople, (id) => (id === "signIn" ? [...UNSEEN, "invalid_session"] : UNSEEN));
});
