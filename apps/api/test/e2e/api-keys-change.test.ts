/** Changes of API keys. */
import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { rowCounts, startApi } from "../support/api.ts";
import { apiKeyCalls, outcome, PATH, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, revoke, rotate, trail, expire } = apiKeyCalls(api);

describe("the change of a key", () => {
  test("a key, two fields changed: the rest stays, version 2, the trail names the fields", async () => {
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

  test("a key, its cap and expiry set and cleared: both stored", async () => {
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

  test("a key, narrowed: its descendants stay as they are", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey, { scopes: ["avatars:read"] });
    await patch(root, parent.id, { scopes: ["usage:read"] });
    expect((await get(root, child.id)).body).toEqual(withoutSecret(child));
    expect((await api.call("GET", "/api/v1/avatars", { key: child.apiKey })).status).toBe(200);
  });

  test("a key, changing itself: may narrow, 403 for wider", async () => {
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

  test("a key, an expiry not in the future: 422, equal for an unknown key", async () => {
    const made = await make(root);
    const body = { expiresAt: "2001-01-01T00:00:00Z" };
    const answer = await patch(root, made.id, body);
    expect(answer.body.errors).toMatchObject([{ pointer: "#/expiresAt", code: "not_in_future" }]);
    const unknown = await patch(root, "key_01h455vb4pex5vsknk084sn02q", body);
    expect({ ...unknown.body, requestId: null }).toEqual({ ...answer.body, requestId: null });
  });

  test("a revoked or expired key, changed or rotated: 409", async () => {
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

  test("a key, changed with a stale If-Match: 412, before the check of its status", async () => {
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

  test.each(["1", '"1', "'1'", '"1" "2"', ", ,", 'w/"1"', '"a"b"'])(
    "a key, changed with If-Match %s: 422",
    async (header) => {
      const made = await make(root);
      for (const answer of [
        await patch(root, made.id, { name: "x", other: 1 }, { "if-match": header }),
        await revoke(root, made.id, { "if-match": header }),
      ]) {
        expect(outcome(answer)).toEqual([422, "validation_failed"]);
        expect(answer.body.errors[0]).toMatchObject({ header: "If-Match", code: "malformed" });
      }
      expect(await trail(made.id)).toHaveLength(0);
    },
  );

  test("eight changes of a key, at once with the same If-Match: one applied", async () => {
    const made = await make(root);
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => patch(root, made.id, { name: `n${index}` }, { "if-match": '"1"' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(412)]);
  });
});
