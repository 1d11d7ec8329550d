/** API keys after their creation: listed, read, changed, rotated, revoked. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { seedKey, seedTenant } from "@realtime-avatar/db/testing";
import { ApiKey, ApiKeyWithSecret, type CreateApiKey } from "@realtime-avatar/domain/api-key";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { validate } from "@realtime-avatar/domain/schema";
import {
  type Answer,
  type CallOptions,
  createTestApp,
  readAnswer,
  requestInit,
  rowCounts,
  startApi,
  TEST_CONFIG,
  type TestApi,
} from "../support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const PATH = "/api/v1/api-keys";
let api: TestApi;
let root: string;

beforeAll(async () => {
  api = await startApi();
  root = await api.key();
});
afterAll(() => api.close());

const make = async (key: string, request: Partial<CreateApiKey> = {}): Promise<ApiKeyWithSecret> => {
  const { status, body } = await api.call("POST", PATH, { key, body: { name: "x", scopes: ["*"], ...request } });
  if (status !== 201) throw new Error(`a key was not created: ${status}`);
  return body;
};
const get = (key: string, id: string) => api.call("GET", `${PATH}/${id}`, { key });
const patch = (key: string, id: string, body: unknown, headers = {}) =>
  api.call("PATCH", `${PATH}/${id}`, { key, body, headers });
const revoke = (key: string, id: string, headers = {}) => api.call("DELETE", `${PATH}/${id}`, { key, headers });
const rotate = (key: string, id: string, body: unknown = {}) => api.call("POST", `${PATH}/${id}/rotate`, { key, body });
const works = async (key: string): Promise<boolean> => (await api.call("GET", `${PATH}/self`, { key })).status === 200;
const outcome = ({ status, body }: Answer) => [status, body.code];
/** What stands in the audit trail of a target, oldest first, its creation aside. */
const trail = (id: string) => api.database.db.client`
  select action, actor_id, actor_key_id, changed_fields, environment, request_id from audit_events
  where target_id = ${id} and action <> 'api_key.created' order by id`;
const withoutSecret = ({ apiKey: _, ...key }: ApiKeyWithSecret): ApiKey => key;
const expire = (id: string) =>
  api.database.db.client`update api_keys set expires_at = date_trunc('milliseconds', now()) where id = ${id}`;

describe("reading one key", () => {
  test("shows it as its creation did, without the secret", async () => {
    const made = await make(root, { spendLimitCreditMicros: 5, expiresAt: "2090-01-01T00:00:00Z" });
    const { status, headers, body } = await get(root, made.id);
    expect([status, headers.get("etag")]).toEqual([200, '"1"']);
    expect(body).toEqual(withoutSecret(made));
    expect(validate(ApiKey, body)).toEqual([]);
  });

  test("a live key sees the keys of both worlds, a test key those of its own", async () => {
    const live = await make(root, { environment: "live" });
    const inTest = await make(root, { environment: "test" });
    expect((await get(root, inTest.id)).body.environment).toBe("test");
    expect((await get(root, live.id)).body.environment).toBe("live");
    expect((await get(inTest.apiKey, inTest.id)).status).toBe(200);
    expect(outcome(await get(inTest.apiKey, live.id))).toEqual([404, "not_found"]);
  });

  test("needs no reach: a narrow key sees what it cannot change", async () => {
    const narrow = await make(root, { environment: "live", scopes: ["api_keys:write"] });
    const wide = await make(root, { environment: "live", scopes: ["*"] });
    expect((await get(narrow.apiKey, wide.id)).status).toBe(200);
    expect(outcome(await patch(narrow.apiKey, wide.id, { name: "y" }))).toEqual([403, "grant_exceeds_caller"]);
  });
});

describe("self", () => {
  test.each([[["usage:read"]], [["api_keys:write"]], [["*"]]] as const)("is what a key of %j is", async (scopes) => {
    const made = await make(root, { scopes: [...scopes], spendLimitCreditMicros: 7 });
    const { status, headers, body } = await api.call("GET", `${PATH}/self`, { key: made.apiKey });
    expect([status, headers.get("etag")]).toEqual([200, '"1"']);
    expect(body).toEqual(withoutSecret(made));
  });

  test("names the newest credential, whichever was shown", async () => {
    const made = await make(root);
    const { body: rotated } = await rotate(root, made.id, { overlapSeconds: 600 });
    for (const key of [made.apiKey, rotated.apiKey]) {
      const { body } = await api.call("GET", `${PATH}/self`, { key });
      expect([body.id, body.keyId, body.redactedKey]).toEqual([made.id, rotated.keyId, rotated.redactedKey]);
    }
  });
});

describe("the list", () => {
  /** A tenant of its own, with a live key that lists. */
  const tenant = async (): Promise<string> => {
    const id = await seedTenant(api.database.db);
    return (await seedKey(api.database.db, id, { environment: "live", scopes: ["*"], name: "root" })).secret.reveal();
  };
  const list = (key: string, query = "") => api.call("GET", `${PATH}${query}`, { key });
  const names = ({ body }: Answer): string[] => body.data.map(({ name }: ApiKey) => name);

  test("has fifty in a page when nothing is said", async () => {
    const key = await tenant();
    await Promise.all(Array.from({ length: 50 }, () => make(key)));
    const { body } = await list(key);
    expect(body.data).toHaveLength(50);
    expect((await list(key, `?cursor=${body.nextCursor}`)).body).toMatchObject({
      data: [{ name: "root" }],
      nextCursor: null,
    });
  });

  test("has every key of the tenant, newest first, as reading one shows it, and no secret", async () => {
    const key = await tenant();
    await make(key, { name: "a" });
    const made = await make(key, { name: "b", environment: "live", spendLimitCreditMicros: 3 });
    const { status, body, text } = await list(key);
    expect(status).toBe(200);
    expect(body.nextCursor).toBeNull();
    expect(body.data.map(({ name }: ApiKey) => name)).toEqual(["b", "a", "root"]);
    expect(body.data[0]).toEqual(withoutSecret(made));
    expect(text).not.toContain("apiKey");
  });

  test("goes on page by page, each key once, while keys are added", async () => {
    const key = await tenant();
    for (let index = 0; index < 9; index++) await make(key, { name: `k${index}` });
    const seen: string[] = [];
    let query = "?limit=4";
    for (;;) {
      const answer = await list(key, query);
      expect(answer.status).toBe(200);
      seen.push(...names(answer));
      await make(key, { name: "added meanwhile" });
      if (answer.body.nextCursor === null) break;
      expect(answer.body.data).toHaveLength(4);
      query = `?limit=4&cursor=${answer.body.nextCursor}`;
    }
    expect(seen).toEqual(["k8", "k7", "k6", "k5", "k4", "k3", "k2", "k1", "k0", "root"]);
  });

  test("is filtered by status, which follows the whole lineage, and by environment", async () => {
    const key = await tenant();
    const parent = await make(key, { name: "parent" });
    await make(parent.apiKey, { name: "child" });
    const late = await make(key, { name: "late", environment: "live" });
    await make(late.apiKey, { name: "child of late" });
    await revoke(key, parent.id);
    await expire(late.id);
    expect(names(await list(key, "?status=active"))).toEqual(["root"]);
    expect(names(await list(key, "?status=revoked"))).toEqual(["child", "parent"]);
    expect(names(await list(key, "?status=expired"))).toEqual(["child of late", "late"]);
    expect(names(await list(key, "?environment=live"))).toEqual(["late", "root"]);
    expect(names(await list(key, "?environment=test&status=expired"))).toEqual(["child of late"]);
    const { body } = await list(key, "?environment=test&limit=1");
    expect(names(await list(key, `?cursor=${body.nextCursor}`))).toEqual(["child", "parent"]);
  });

  test("shows a test key the keys of its world alone, whatever it asks for", async () => {
    const key = await tenant();
    const inTest = await make(key, { name: "in test" });
    expect(names(await list(inTest.apiKey))).toEqual(["in test"]);
    expect(names(await list(inTest.apiKey, "?environment=live"))).toEqual([]);
    // A cursor carries no authority.
    await make(key, { name: "live", environment: "live" });
    const { body } = await list(key, "?environment=live&limit=1");
    expect(names(await list(inTest.apiKey, `?cursor=${body.nextCursor}`))).toEqual([]);
  });

  test.each([
    ["limit=0", "limit", "out_of_range"],
    ["limit=101", "limit", "out_of_range"],
    ["limit=-1", "limit", "wrong_type"],
    ["limit=", "limit", "wrong_type"],
    ["limit=5x", "limit", "wrong_type"],
    ["limit=1e1", "limit", "wrong_type"],
    ["limit=%205", "limit", "wrong_type"],
    ["limit=05", "limit", "wrong_type"],
    ["limit=99999999999999999999", "limit", "wrong_type"],
    ["limit=5&limit=5", "limit", "repeated_parameter"],
    ["status=active&status=revoked", "status", "repeated_parameter"],
    ["status=Active", "status", "not_allowed"],
    ["status=", "status", "not_allowed"],
    ["environment=prod", "environment", "not_allowed"],
    ["cursor=", "cursor", "too_short"],
    ["cursor=x", "cursor", "invalid_cursor"],
    [`cursor=${"x".repeat(513)}`, "cursor", "too_long"],
    ["cursor=%00", "cursor", "invalid_text"],
    ["Limit=5", "Limit", "unknown_parameter"],
    ["sourceKind=image", "sourceKind", "unknown_parameter"],
    ["__proto__=1", "__proto__", "unknown_parameter"],
    ["constructor=1", "constructor", "unknown_parameter"],
  ])("refuses ?%s", async (query, parameter, code) => {
    const { status, body } = await list(root, `?${query}`);
    expect([status, body.code]).toEqual([422, "validation_failed"]);
    expect(body.errors).toMatchObject([{ parameter, code }]);
  });

  test("tells at most a hundred errors", async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `a${index}`);
    expect((await list(root, `?${names.join("&")}`)).body.errors).toHaveLength(100);
  });

  test("tells all that is wrong at once, and repeats none of it", async () => {
    const { body, text } = await list(root, "?limit=forbidden&status=forbidden&cursor=forbidden%00&other=forbidden");
    expect(body.errors.map(({ parameter }: { parameter: string }) => parameter)).toEqual([
      "limit",
      "status",
      "cursor",
      "other",
    ]);
    expect(text).not.toContain("forbidden");
  });
});

describe("changing a key", () => {
  test("changes what is given and keeps the rest, raises the version, and tells which fields changed", async () => {
    const made = await make(root, { spendLimitCreditMicros: 5 });
    const answer = await patch(root, made.id, { name: "renamed", scopes: ["avatars:read", "avatars:read"] });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"2"']);
    expect(answer.body).toEqual({ ...withoutSecret(made), name: "renamed", scopes: ["avatars:read"] });
    expect((await get(root, made.id)).body).toEqual(answer.body);
    const self = await api.call("GET", `${PATH}/self`, { key: root });
    expect(await trail(made.id)).toMatchObject([
      {
        action: "api_key.updated",
        actor_id: self.body.id,
        actor_key_id: parseApiKey(root)?.keyId,
        changed_fields: ["name", "scopes"],
        environment: "test",
        request_id: answer.headers.get("x-request-id"),
      },
    ]);
    // What it may no longer do, it cannot do from now on.
    expect((await api.call("GET", PATH, { key: made.apiKey })).status).toBe(403);
  });

  test("sets and clears the cap and the expiry", async () => {
    const made = await make(root);
    const set = { spendLimitCreditMicros: 9007199254740991, expiresAt: "2090-01-01T01:00:00+01:00" };
    const first = await patch(root, made.id, set);
    expect(first.body).toMatchObject({ ...set, expiresAt: "2090-01-01T00:00:00.000Z" });
    expect((await get(root, made.id)).body).toEqual(first.body);
    const second = await patch(root, made.id, { spendLimitCreditMicros: null, expiresAt: null });
    expect(second.body).toMatchObject({ spendLimitCreditMicros: null, expiresAt: null });
    expect((await get(root, made.id)).body).toEqual(second.body);
    expect(second.headers.get("etag")).toBe('"3"');
  });

  test("leaves its descendants as they are", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey, { scopes: ["avatars:read"] });
    await patch(root, parent.id, { scopes: ["usage:read"] });
    expect((await get(root, child.id)).body).toEqual(withoutSecret(child));
    expect((await api.call("GET", "/api/v1/avatars", { key: child.apiKey })).status).toBe(200);
  });

  test("nobody widens its own key; everybody may narrow it", async () => {
    const own = await make(root, {
      scopes: ["api_keys:write", "avatars:read"],
      spendLimitCreditMicros: 100,
      expiresAt: "2090-01-01T00:00:00Z",
    });
    const wider = [
      [{ scopes: ["*"] }, "#/scopes"],
      [{ scopes: ["api_keys:write", "avatars:write"] }, "#/scopes"],
      [{ spendLimitCreditMicros: 101 }, "#/spendLimitCreditMicros"],
      [{ spendLimitCreditMicros: null }, "#/spendLimitCreditMicros"],
      [{ expiresAt: "2090-01-01T00:00:00.001Z" }, "#/expiresAt"],
      [{ expiresAt: null }, "#/expiresAt"],
    ] as const;
    for (const [body, pointer] of wider) {
      const answer = await patch(own.apiKey, own.id, body);
      expect(outcome(answer)).toEqual([403, "grant_exceeds_caller"]);
      expect(answer.body.errors).toMatchObject([{ pointer }]);
    }
    expect((await get(root, own.id)).body).toEqual(withoutSecret(own));
    const narrower = { scopes: ["api_keys:write"], spendLimitCreditMicros: 50, expiresAt: "2089-01-01T00:00:00Z" };
    expect((await patch(own.apiKey, own.id, narrower)).status).toBe(200);
    expect(outcome(await patch(own.apiKey, own.id, { spendLimitCreditMicros: 100 }))).toEqual([
      403,
      "grant_exceeds_caller",
    ]);
    expect(await trail(own.id)).toHaveLength(1);
  });

  test("an expiry that is not in the future is refused, and tells nothing of the key", async () => {
    const made = await make(root);
    const body = { expiresAt: "2001-01-01T00:00:00Z" };
    const answer = await patch(root, made.id, body);
    expect(answer.body.errors).toMatchObject([{ pointer: "#/expiresAt", code: "not_in_future" }]);
    const unknown = await patch(root, "key_01h455vb4pex5vsknk084sn02q", body);
    expect({ ...unknown.body, requestId: null }).toEqual({ ...answer.body, requestId: null });
  });

  test("a key that is revoked, by itself or by an ancestor, or expired, cannot be changed or rotated", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey);
    const late = await make(root);
    await revoke(root, parent.id);
    await expire(late.id);
    const before = await rowCounts(api.database);
    for (const [id, status] of [
      [parent.id, "revoked"],
      [child.id, "revoked"],
      [late.id, "expired"],
    ] as const) {
      for (const answer of [await patch(root, id, { expiresAt: "2090-01-01T00:00:00Z" }), await rotate(root, id)]) {
        expect(outcome(answer)).toEqual([409, "invalid_transition"]);
        expect(answer.body).toMatchObject({ currentStatus: status, allowedStatuses: [], retryable: false });
      }
    }
    expect(await rowCounts(api.database)).toEqual(before);
  });

  test("If-Match keeps one change from undoing another; it is judged before the state", async () => {
    const made = await make(root);
    const first = await patch(root, made.id, { name: "first" }, { "if-match": '"1"' });
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
    for (const expected of ['"1"', '"3"', 'W/"2"', '"2x"', '""', '"02"']) {
      expect(outcome(await patch(root, made.id, { name: "second" }, { "if-match": expected }))).toEqual([
        412,
        "precondition_failed",
      ]);
    }
    for (const expected of ['"1", "2"', "*"]) {
      const { headers } = await get(root, made.id);
      const current = expected.replace("2", headers.get("etag")?.slice(1, -1) ?? "");
      expect((await patch(root, made.id, { name: "third" }, { "if-match": current })).status).toBe(200);
    }
    expect(outcome(await revoke(root, made.id, { "if-match": '"1"' }))).toEqual([412, "precondition_failed"]);
    expect((await revoke(root, made.id, { "if-match": '"4"' })).status).toBe(200);
    expect(outcome(await patch(root, made.id, { name: "x" }, { "if-match": '"4"' }))).toEqual([
      412,
      "precondition_failed",
    ]);
    expect(outcome(await patch(root, made.id, { name: "x" }, { "if-match": '"5"' }))).toEqual([
      409,
      "invalid_transition",
    ]);
  });

  test.each(["1", '"1', "'1'", '"1" "2"', ", ,", 'w/"1"', '"a"b"'])("If-Match: %s is malformed", async (header) => {
    const made = await make(root);
    for (const answer of [
      await patch(root, made.id, { name: "x", other: 1 }, { "if-match": header }),
      await revoke(root, made.id, { "if-match": header }),
    ]) {
      expect(outcome(answer)).toEqual([422, "validation_failed"]);
      expect(answer.body.errors[0]).toMatchObject({ header: "If-Match", code: "malformed" });
    }
    expect(await trail(made.id)).toHaveLength(0);
  });

  test("many at once are all made, one after the other", async () => {
    const made = await make(root);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => patch(root, made.id, { name: `n${index}` })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const versions = answers.map(({ headers }) => headers.get("etag"));
    expect(versions.sort()).toEqual(['"2"', '"3"', '"4"', '"5"', '"6"', '"7"', '"8"', '"9"']);
    expect(await trail(made.id)).toHaveLength(8);
  });

  test("of many that expect the same version, one is made", async () => {
    const made = await make(root);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => patch(root, made.id, { name: `n${index}` }, { "if-match": '"1"' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
  });
});

describe("revoking a key", () => {
  test("takes it and all its descendants, and nothing else; twice gives the same answer", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey);
    const grandchild = await make(child.apiKey);
    const sibling = await make(parent.apiKey);
    const first = await revoke(root, child.id);
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"2"']);
    expect(first.body).toEqual({ ...withoutSecret(child), status: "revoked" });
    const versionOfRow = async () =>
      (await api.database.db.client`select xmin::text from api_keys where id = ${child.id}`)[0]?.["xmin"];
    const before = await versionOfRow();
    const second = await revoke(root, child.id);
    // It is confirmed by a write, which a synchronous replica has to have, and not by what could be read.
    expect(await versionOfRow()).not.toBe(before);
    expect([second.status, second.body, second.headers.get("etag")]).toEqual([200, first.body, '"2"']);
    expect(await Promise.all([parent, child, grandchild, sibling].map(({ apiKey }) => works(apiKey)))).toEqual([
      true,
      false,
      false,
      true,
    ]);
    expect((await get(root, grandchild.id)).body.status).toBe("revoked");
    expect(await trail(child.id)).toMatchObject([{ action: "api_key.revoked", changed_fields: ["status"] }]);
    // A descendant is revoked already: to say so changes nothing.
    expect((await revoke(root, grandchild.id)).body).toEqual({ ...withoutSecret(grandchild), status: "revoked" });
    expect(await trail(grandchild.id)).toHaveLength(0);
  });

  test("an expired key stays expired", async () => {
    const made = await make(root);
    await expire(made.id);
    const { status, body } = await revoke(root, made.id);
    expect([status, body.status]).toEqual([200, "expired"]);
    expect(await trail(made.id)).toHaveLength(0);
  });

  test("a key may revoke itself and whatever else is within its reach, and nothing more", async () => {
    const own = await make(root);
    expect((await revoke(own.apiKey, own.id)).status).toBe(200);
    expect(await works(own.apiKey)).toBe(false);
    const narrow = await make(root, { scopes: ["api_keys:write"], spendLimitCreditMicros: 10 });
    const wide = await make(root);
    const capped = await make(root, { scopes: ["api_keys:write"], spendLimitCreditMicros: 10 });
    const answer = await revoke(narrow.apiKey, wide.id);
    expect(outcome(answer)).toEqual([403, "grant_exceeds_caller"]);
    expect(answer.body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual([
      "#/scopes",
      "#/spendLimitCreditMicros",
    ]);
    expect((await revoke(narrow.apiKey, capped.id)).status).toBe(200);
  });

  test("no key takes over its ancestors, or undoes what was done to them", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey);
    const grandchild = await make(child.apiKey);
    await patch(root, parent.id, { scopes: ["avatars:read"] });
    for (const key of [child.apiKey, grandchild.apiKey]) {
      for (const answer of [
        await patch(key, parent.id, { scopes: ["*"] }),
        await rotate(key, parent.id),
        await revoke(key, parent.id),
      ]) {
        expect(outcome(answer)).toEqual([403, "grant_exceeds_caller"]);
        expect(answer.body.errors).toMatchObject([{ pointer: "#", code: "is_ancestor" }]);
      }
    }
    expect((await get(root, parent.id)).body).toMatchObject({ status: "active", scopes: ["avatars:read"] });
  });

  test("nobody keeps a key alive by changing it without a pause", async () => {
    for (const how of ["DELETE", "leaked-keys"]) {
      const made = await make(root);
      let stop = false;
      const lanes = Array.from({ length: 24 }, async () => {
        while (!stop) await patch(made.apiKey, made.id, { name: "busy" });
      });
      await Bun.sleep(50);
      let answer: Answer;
      try {
        answer =
          how === "DELETE"
            ? await revoke(root, made.id)
            : await api.call("POST", "/api/v1/leaked-keys", { body: { apiKey: made.apiKey } });
        expect([200, 202]).toContain(answer.status);
        expect(await works(made.apiKey)).toBe(false);
      } finally {
        stop = true;
        await Promise.all(lanes);
      }
      const { headers, body } = await get(root, made.id);
      // The answer shows the key as it came to be, whatever happened since its look-up.
      if (how === "DELETE")
        expect([answer.body.name, answer.headers.get("etag")]).toEqual([body.name, headers.get("etag")]);
    }
  });

  test("of two keys that revoke each other at once, one wins, and nothing waits for ever", async () => {
    for (let round = 0; round < 20; round++) {
      const [a, b] = await Promise.all([make(root), make(root)]);
      const answers = await Promise.all([revoke(a.apiKey, b.id), revoke(b.apiKey, a.id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    }
  });
});

describe("rotating a key", () => {
  test("gives the record a new secret, shown once; without overlap the old one ends at once", async () => {
    const made = await make(root, { spendLimitCreditMicros: 5 });
    const child = await make(made.apiKey, { scopes: ["avatars:read"] });
    const { status, headers, body } = await rotate(root, made.id);
    expect([status, headers.get("etag")]).toEqual([200, '"2"']);
    expect(validate(ApiKeyWithSecret, body)).toEqual([]);
    const { keyId, redactedKey, apiKey } = body;
    expect(body).toEqual({ ...made, keyId, redactedKey, apiKey, lastUsedAt: body.lastUsedAt });
    expect(parseApiKey(apiKey)?.keyId).toBe(keyId);
    expect(keyId).not.toBe(made.keyId);
    expect([apiKey.slice(0, 9), made.environment]).toEqual(["rta_test_", "test"]);
    const live = await make(root, { environment: "live" });
    expect((await rotate(root, live.id)).body.apiKey).toStartWith("rta_live_");
    expect(outcome(await api.call("GET", `${PATH}/self`, { key: made.apiKey }))).toEqual([401, "revoked_api_key"]);
    expect(await works(apiKey)).toBe(true);
    // What descends from the record goes on.
    expect(await works(child.apiKey)).toBe(true);
    expect((await get(root, made.id)).text).not.toContain(apiKey);
    expect(await trail(made.id)).toMatchObject([
      { action: "api_key.rotated", changed_fields: ["keyId", "redactedKey"] },
    ]);
  });

  /** When each credential of a record ends, in seconds from now, oldest first. */
  const ends = async (id: string): Promise<(number | null)[]> => {
    const rows = await api.database.db.client<{ left: number | null }[]>`
      select extract(epoch from retired_at - now())::float8 as left from api_key_credentials
      where api_key_id = ${id} order by created_at, retired_at`;
    return rows.map(({ left }) => (left === null ? null : Math.round(left)));
  };
  const near = (value: number | null | undefined, seconds: number): void => {
    expect(Math.abs((value ?? Number.NaN) - seconds)).toBeLessThan(30);
  };

  test("leaves the old secret valid for the overlap, and no longer", async () => {
    const made = await make(root);
    const { body: second } = await rotate(root, made.id, { overlapSeconds: 604_800 });
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([true, true]);
    near((await ends(made.id))[0], 604_800);
    await api.database.db.client`
      update api_key_credentials set retired_at = date_trunc('milliseconds', now()) where key_id = ${made.keyId}`;
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([false, true]);
  });

  test("again leaves at most two usable, lengthens the life of none, and revives none", async () => {
    const made = await make(root);
    const { body: second } = await rotate(root, made.id, { overlapSeconds: 100 });
    const { body: third } = await rotate(root, made.id, { overlapSeconds: 10_000 });
    expect(await Promise.all([made.apiKey, second.apiKey, third.apiKey].map(works))).toEqual([false, true, true]);
    const { body: fourth } = await rotate(root, made.id, { overlapSeconds: 50 });
    const all = [made, second, third, fourth].map(({ apiKey }) => apiKey);
    expect(await Promise.all(all.map(works))).toEqual([false, false, true, true]);
    const [first = 1, before = 1, old, newest] = await ends(made.id);
    expect(Math.max(first ?? 1, before ?? 1)).toBeLessThanOrEqual(0);
    near(old, 50);
    expect(newest).toBeNull();
  });

  test("never leaves a secret valid beyond the key's own expiry, even if that is put off later", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await make(root, { expiresAt });
    await rotate(root, made.id, { overlapSeconds: 604_800 });
    await patch(root, made.id, { expiresAt: null });
    const [old] = await api.database.db.client`
      select retired_at from api_key_credentials where key_id = ${made.keyId}`;
    expect(old?.["retired_at"]).toEqual(new Date(expiresAt));
  });

  test("of itself needs an overlap of a minute", async () => {
    const made = await make(root);
    for (const body of [{}, { overlapSeconds: 59 }]) {
      const answer = await rotate(made.apiKey, made.id, body);
      expect(outcome(answer)).toEqual([422, "validation_failed"]);
      expect(answer.body.errors).toMatchObject([{ pointer: "#/overlapSeconds", code: "too_short_for_own_key" }]);
    }
    const { body: second } = await rotate(made.apiKey, made.id, { overlapSeconds: 60 });
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([true, true]);
  });

  test.each([-1, 604_801, 1.5, "60", null])("an overlap of %j is refused", async (overlapSeconds) => {
    const made = await make(root);
    const answer = await rotate(root, made.id, { overlapSeconds });
    expect(outcome(answer)).toEqual([422, "validation_failed"]);
    expect(answer.body.errors).toMatchObject([{ pointer: "#/overlapSeconds" }]);
  });

  test("many times at once leaves two usable secrets, one of them the newest", async () => {
    const made = await make(root);
    const answers = await Promise.all(Array.from({ length: 6 }, () => rotate(root, made.id, { overlapSeconds: 600 })));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const keys = [made.apiKey, ...answers.map(({ body }) => body.apiKey)];
    const usable = await Promise.all(keys.map(works));
    expect(usable.filter(Boolean)).toHaveLength(2);
    const { body } = await get(root, made.id);
    const newest = keys.find((key) => parseApiKey(key)?.keyId === body.keyId) ?? "";
    expect(await works(newest)).toBe(true);
  });

  test("needs reach, and a body", async () => {
    const narrow = await make(root, { scopes: ["api_keys:write"] });
    const wide = await make(root);
    expect(outcome(await rotate(narrow.apiKey, wide.id))).toEqual([403, "grant_exceeds_caller"]);
    const headers = { "content-type": "application/json" };
    expect(outcome(await api.call("POST", `${PATH}/${wide.id}/rotate`, { key: root, headers }))).toEqual([
      400,
      "malformed_json",
    ]);
  });
});

describe("the limits of a lineage", () => {
  const limits = ({ body }: Answer) => [
    body.spendLimitCreditMicros,
    body.effectiveSpendLimitCreditMicros,
    body.expiresAt,
    body.effectiveExpiresAt,
  ];

  test("show in each key, whatever has become of its ancestors since it was created", async () => {
    const live = { environment: "live" } as const;
    const parent = await make(root, live);
    const child = await make(parent.apiKey, live);
    const grandchild = await make(child.apiKey, {
      ...live,
      spendLimitCreditMicros: 7,
      expiresAt: "2090-01-01T00:00:00Z",
    });
    const inTest = await make(child.apiKey, { environment: "test" });
    expect(limits(await get(root, child.id))).toEqual([null, null, null, null]);
    await patch(root, parent.id, { spendLimitCreditMicros: 0, expiresAt: "2080-01-01T00:00:00Z" });
    const until = "2080-01-01T00:00:00.000Z";
    expect(limits(await get(root, parent.id))).toEqual([0, 0, until, until]);
    expect(limits(await get(root, child.id))).toEqual([null, 0, null, until]);
    expect(limits(await get(root, grandchild.id))).toEqual([7, 0, "2090-01-01T00:00:00.000Z", until]);
    // Test use never counts against live caps. An expiry holds in both.
    expect(limits(await get(root, inTest.id))).toEqual([null, null, null, until]);
    // The same in a list, for the key itself, and in the responses of a change, a rotation, a creation and a revocation.
    const { body: list } = await api.call("GET", `${PATH}?limit=100`, { key: root });
    const listed = list.data.find(({ id }: ApiKey) => id === child.id);
    expect(limits({ body: listed } as Answer)).toEqual([null, 0, null, until]);
    expect(limits(await api.call("GET", `${PATH}/self`, { key: child.apiKey }))).toEqual([null, 0, null, until]);
    expect(limits(await patch(child.apiKey, child.id, { name: "y" }))).toEqual([null, 0, null, until]);
    expect(limits(await patch(root, grandchild.id, { spendLimitCreditMicros: null }))).toEqual([
      null,
      0,
      "2090-01-01T00:00:00.000Z",
      until,
    ]);
    expect(limits(await rotate(root, child.id))).toEqual([null, 0, null, until]);
    const created = await make(grandchild.apiKey, { ...live, expiresAt: "2070-01-01T00:00:00Z" });
    expect(limits({ body: created } as never)).toEqual([
      null,
      0,
      "2070-01-01T00:00:00.000Z",
      "2070-01-01T00:00:00.000Z",
    ]);
    expect(limits(await revoke(root, child.id))).toEqual([null, 0, null, until]);
  });
});

describe("the quota of active keys", () => {
  const quota = (maxActiveKeysPerTenant: number) => {
    const app = createTestApp(api.database.db, { config: { ...TEST_CONFIG, maxActiveKeysPerTenant } });
    return async (method: string, path: string, options: CallOptions) =>
      readAnswer(await app.handle(new Request(`http://localhost${path}`, requestInit(method, options))));
  };
  /** A tenant with a root key, and a way to create keys as it. */
  const tenantOf = async (maximum: number) => {
    const call = quota(maximum);
    const tenantId = await seedTenant(api.database.db);
    const own = (await seedKey(api.database.db, tenantId, { environment: "live", scopes: ["*"] })).secret.reveal();
    const create = (key = own, body: object = {}, headers = {}) =>
      call("POST", PATH, { key, body: { name: "x", scopes: ["*"], ...body }, headers });
    return { call, own, create };
  };

  test("refuses one key too many, and counts neither revoked nor expired keys, nor their descendants", async () => {
    const { call, own, create } = await tenantOf(4);
    const [parent, second, third] = [await create(), await create(), await create()];
    expect([parent, second, third].map(({ status }) => status)).toEqual([201, 201, 201]);
    const before = await rowCounts(api.database);
    const refused = await create();
    expect(outcome(refused)).toEqual([409, "quota_exceeded"]);
    expect(refused.body).toMatchObject({ retryable: false, detail: expect.stringContaining("4") });
    expect(await rowCounts(api.database)).toEqual(before);
    // A revoked key makes room.
    await call("DELETE", `${PATH}/${third.body.id}`, { key: own });
    const child = await create(parent.body.apiKey);
    expect(child.status).toBe(201);
    expect(outcome(await create())).toEqual([409, "quota_exceeded"]);
    // With its ancestor, a descendant makes room too: two places.
    await call("DELETE", `${PATH}/${parent.body.id}`, { key: own });
    expect([(await create()).status, (await create()).status]).toEqual([201, 201]);
    expect(outcome(await create())).toEqual([409, "quota_exceeded"]);
    await expire(second.body.id);
    expect((await create()).status).toBe(201);
  });

  test("counts each tenant for itself, and holds for creates that come together", async () => {
    const [one, other] = [await tenantOf(6), await tenantOf(6)];
    for (let round = 0; round < 5; round++) await one.create();
    const answers = await Promise.all([...Array(4).fill(one), ...Array(4).fill(other)].map(({ create }) => create()));
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409, 409, 201, 201, 201, 201]);
  });

  test("does not keep a replay back, and a refusal is not kept", async () => {
    const { call, own, create } = await tenantOf(2);
    const headers = { "idempotency-key": "one-key" };
    const first = await create(own, {}, headers);
    expect(first.status).toBe(201);
    const again = await create(own, {}, headers);
    expect([again.status, again.headers.get("idempotent-replayed"), again.text]).toEqual([201, "true", first.text]);
    const another = { "idempotency-key": "another" };
    expect(outcome(await create(own, {}, another))).toEqual([409, "quota_exceeded"]);
    await call("DELETE", `${PATH}/${first.body.id}`, { key: own });
    expect((await create(own, {}, another)).status).toBe(201);
  });
});
