/** Changes of API keys. */
import { describe, expect, test } from "bun:test";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { startApi } from "../support/api.ts";
import { apiKeyCalls, PATH, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, trail } = apiKeyCalls(api);

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
});
