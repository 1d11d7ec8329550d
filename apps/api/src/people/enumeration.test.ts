/**
 * Protection against enumeration: the responses for an unknown tenant, user, passkey or link, and for a known one with
 * a wrong secret, have the same bytes and take the same statements.
 */
import { afterAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { newId, type TenantId } from "@realtime-avatar/domain/id";
import { userHandle } from "@realtime-avatar/domain/people/people";
import { connectTo } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { type Answer, createTestApp, PUBLIC_URL, readAnswer, requestInit, startApi } from "../../test/support/api.ts";
import { createAuthenticator } from "../../test/support/people/authenticator.ts";
import { inviteByOperator, type Person, seedPerson } from "../../test/support/people/people.ts";
import { expectProblem } from "../../test/support/routes.ts";

/** The names of the sent statements. */
const statements: string[] = [];
const api = await startApi();
const watcher = { statement: (name: string) => void statements.push(name), batch: () => {}, batchRetry: () => {} };
const db = connectTo(api.database, { connections: 2, watcher });
const app = createTestApp(db);
const person = await seedPerson(api, "owner");
afterAll(() => db.close());

const post = async (path: string, body: unknown): Promise<{ answer: Answer; seen: unknown }> => {
  statements.length = 0;
  const answer = await readAnswer(
    await app.handle(new Request(`http://api/api/v1/${path}`, requestInit("POST", { body }))),
  );
  const headers = [...answer.headers].filter(([name]) => !["x-request-id", "date"].includes(name));
  const seen = {
    status: answer.status,
    headers,
    body: { ...answer.body, requestId: null },
    statements: [...statements],
  };
  return { answer, seen };
};
const unknownTenant = (): TenantId => newId("ten", new Date(), random);
const handleOf = (tenantId: TenantId, id: Person["id"]): string =>
  Buffer.from(userHandle({ tenantId, id: id as `usr_${string}` })).toString("base64url");

test("a sign-in, of an unknown tenant, user or passkey: the same bytes as for a wrong signature", async () => {
  const { publicKey } = (await post("user-sessions/options", {})).answer.body;
  const good = person.authenticator.get(publicKey);
  const response = good.response as Record<string, string>;
  const foreign = createAuthenticator(PUBLIC_URL).get(publicKey);
  const credentials = {
    "a wrong signature": { ...good, response: { ...response, signature: randomBytes(64).toString("base64url") } },
    "another passkey": { ...good, id: foreign.id, rawId: foreign.rawId },
    "another user": {
      ...good,
      response: { ...response, userHandle: handleOf(person.tenantId, newId("usr", new Date(), random)) },
    },
    "another tenant": { ...good, response: { ...response, userHandle: handleOf(unknownTenant(), person.id) } },
  };
  const all = [];
  for (const credential of Object.values(credentials)) all.push(await post("user-sessions", { credential }));
  const [first, ...others] = all;
  if (!first) throw new Error("no response");
  expectProblem(first.answer, "invalid_passkey");
  for (const { seen } of others) expect(seen).toEqual(first.seen);
  expect((first.seen as { statements: string[] }).statements).toEqual(["find_passkey"]);
});

test.each(["options", "acceptance"])(
  "an unknown link, opened: the same bytes as for a wrong secret: %s",
  async (path) => {
    const token = await inviteByOperator(api, { email: "known@example.com", role: "viewer" });
    const [prefix, kind, tenant = "", id = "", secret = ""] = token.split("_");
    const of = (...parts: string[]): string => [prefix, kind, ...parts].join("_");
    const other = newId("inv", new Date(), random).slice(4);
    const tokens = {
      "a wrong secret": of(tenant, id, secret.split("").reverse().join("")),
      "an unknown link": of(tenant, other, secret),
      "an unknown tenant": of(unknownTenant().slice(4), id, secret),
    };
    const all = [];
    for (const one of Object.values(tokens)) {
      const body = path === "options" ? { token: one } : { token: one, name: "x", credential: {} };
      all.push(await post(`invitations/${path}`, body));
    }
    const [first, ...others] = all;
    if (!first) throw new Error("no response");
    expectProblem(first.answer, "invalid_invitation");
    for (const { seen } of others) expect(seen).toEqual(first.seen);
    expect((first.seen as { statements: string[] }).statements).toEqual(["find_invitation"]);
  },
);

test("an unknown session, used: the same bytes as for a wrong secret", async () => {
  const [prefix, kind, tenant = "", id = "", secret = ""] = person.cookie.split("_");
  const of = (...parts: string[]): string => [prefix, kind, ...parts].join("_");
  const cookies = [
    of(tenant, id, secret.split("").reverse().join("")),
    of(tenant, newId("uss", new Date(), random).slice(4), secret),
    of(unknownTenant().slice(4), id, secret),
  ];
  const all = [];
  for (const cookie of cookies) {
    statements.length = 0;
    const headers = {
      cookie: `__Host-realtime-avatar-session=${cookie}`,
      "sec-fetch-site": "same-origin",
      "realtime-avatar-environment": "live",
    };
    const request = new Request("http://api/api/v1/user-sessions/current", { headers });
    const answer = await readAnswer(await app.handle(request));
    expectProblem(answer, "invalid_session");
    all.push({ body: { ...answer.body, requestId: null }, statements: [...statements] });
  }
  expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
  expect(all[0]?.statements).toEqual(["find_user_session"]);
});
