/** Every route under /api/v1 for every role: the operations that people may and may not call. */
import { describe, expect, test } from "bun:test";
import { MINIMUM_ROLES, ROLES } from "@realtime-avatar/domain/people/roles";
import { seedTenant } from "@realtime-avatar/testing/seeds";
import { listOperations } from "../../src/http/operation.ts";
import { startApi } from "../support/api.ts";
import { type Person, pageHeaders, seedPerson } from "../support/people/people.ts";
import { bare, expectProblem, listRoutes, resourceKind, unknownId, withId } from "../support/routes.ts";

const api = await startApi();
const everything = await api.key();
/** Two keys with one scope each. For each route, one of them lacks the scope. */
const readsUsage = await api.key({ scopes: ["usage:read"] });
const readsAvatars = await api.key({ scopes: ["avatars:read"] });
const owner = await seedPerson(api, "owner");

/** The routes that need credentials. */
const routes = () => listRoutes(api).filter(({ scope }) => scope !== "none");
const operationsByRoute = () => listOperations(api.app.routes);
describe("the role of a person", () => {
  /** A request with an invalid query, which is refused after the check of the role, so that nothing is executed. */
  const probe = (person: Person, method: string, url: string) => person.call(method, `${url}?dry=1`, undefined);

  test.each(["viewer", "developer", "owner"] as const)(
    "a %s, on every route: 403 unless the table allows the role",
    async (role) => {
      const person = await seedPerson(api, role);
      for (const { method, path, url } of routes()) {
        const required = MINIMUM_ROLES[operationsByRoute().get(`${method} ${path}`) ?? ""] ?? null;
        const answer = await probe(person, method, url);
        if (required !== null && ROLES.indexOf(required) <= ROLES.indexOf(role)) {
          expect([`${method} ${path}`, answer.status === 403]).toEqual([`${method} ${path}`, false]);
          continue;
        }
        expectProblem(answer, "insufficient_role");
        expect([answer.body.requiredRole, answer.body.role]).toEqual([required, role]);
      }
    },
  );

  test("the operations with credentials, compared with the table: each has an entry", () => {
    const operations = routes().map(({ method, path }) => operationsByRoute().get(`${method} ${path}`) ?? "");
    expect(operations.filter((id) => !Object.hasOwn(MINIMUM_ROLES, id))).toEqual([]);
  });

  test("a key, on the routes of people: 403", async () => {
    for (const { method, url, scope } of routes()) {
      if (scope !== "person") continue;
      const answer = await api.call(method, url, { key: everything });
      expectProblem(answer, "insufficient_role");
      expect(answer.body.role).toBeNull();
    }
  });

  test("a key with a cookie, on every route: the cookie is ignored", async () => {
    const headers = pageHeaders(owner.cookie, "test");
    for (const { method, url, scope } of routes().filter(
      (route) => route.scope !== "person" && route.scope !== "any",
    )) {
      const key = scope === "usage:read" ? readsAvatars : readsUsage;
      expectProblem(await api.call(method, url, { key, headers }), "insufficient_scope");
      expectProblem(
        await api.call(method, url, { headers: { ...headers, authorization: "Bearer x" } }),
        "invalid_api_key",
      );
      expectProblem(await api.call(method, url, { headers: { ...headers, authorization: "" } }), "missing_api_key");
    }
  });
});

test("an id in a path, malformed, unknown or of another tenant: 404 in the same bytes", async () => {
  const foreign = await seedPerson(api, "owner", await seedTenant(api.database.db));
  const invited = await foreign.call("POST", "/api/v1/invitations", { email: "x@example.com", role: "viewer" });
  const [passkey] = (await foreign.call("GET", "/api/v1/passkeys")).body.data;
  const others: Record<string, string> = {
    usr: foreign.id,
    uss: foreign.sessionId,
    inv: invited.body.id,
    psk: passkey.id,
  };
  for (const { method, path, body, scope } of routes()) {
    if (scope !== "person" || !path.includes(":id")) continue;
    const send = async (id: string) => bare(await owner.call(method, withId(path, id), body));
    const missing = await send(unknownId(path));
    expect([missing.status, missing.body.code]).toEqual([404, "not_found"]);
    const other = others[resourceKind(path)];
    for (const id of ["x", `${resourceKind(path)}_`, ...(other ? [other.toUpperCase(), other] : [])])
      expect(await send(id)).toEqual(missing);
  }
  // No request has changed anything.
  expect((await foreign.call("GET", "/api/v1/user-sessions/current")).status).toBe(200);
  expect((await foreign.call("GET", "/api/v1/invitations")).body.data).toHaveLength(1);
});
