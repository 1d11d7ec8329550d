/** Changes, revocations and rotations of API keys. */
import { describe, expect, test } from "bun:test";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { validate } from "@realtime-avatar/domain/schema";
import { type Answer, startApi } from "../support/api.ts";
import { apiKeyCalls, outcome, PATH, withoutSecret } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, revoke, rotate, works, trail } = apiKeyCalls(api);

describe("the change of a key", () => {
  test("a key, two fields changed: the rest stays, version 2, the trail names the fields", async () => {
    const made = await make(root, { spendLimitCreditMicros: 5 });
    const answer = await patch(root, made.id, { name: "renamed", scopes: ["avatars:read", "avatars:read"] });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"2"']);
    expect(answer.body).toEqual({ ...withoutSecret(made), name: "renamed", scopes: ["avatars:read"] });
    expect((await get(root, made.id)).body).toMatchObject(answer.body);
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
    // The new limits apply at once.
    expect((await api.call("GET", PATH, { key: made.apiKey })).status).toBe(403);
  });

  test("a key's cap and expiry, set and cleared: both stored", async () => {
    const made = await make(root);
    const set = { spendLimitCreditMicros: 9007199254740991, expiresAt: "2090-01-01T01:00:00+01:00" };
    const first = await patch(root, made.id, set);
    expect(first.body).toMatchObject({ ...set, expiresAt: "2090-01-01T00:00:00.000Z" });
    expect((await get(root, made.id)).body).toMatchObject(first.body);
    const second = await patch(root, made.id, { spendLimitCreditMicros: null, expiresAt: null });
    expect(second.body).toMatchObject({ spendLimitCreditMicros: null, expiresAt: null });
    expect((await get(root, made.id)).body).toMatchObject(second.body);
    expect(second.headers.get("etag")).toBe('"3"');
  });

  test("a key, narrowed: its descendants are unchanged", async () => {
    const parent = await make(root);
    const child = await make(parent.apiKey, { scopes: ["avatars:read"] });
    await patch(root, parent.id, { scopes: ["usage:read"] });
    expect((await get(root, child.id)).body).toMatchObject(withoutSecret(child));
    expect((await api.call("GET", "/api/v1/avatars", { key: child.apiKey })).status).toBe(200);
  });
});

describe("the revocation of a key", () => {
  test("a key, revoked twice: it and its descendants end; the response stays the same", async () => {
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
    // A write confirms each response, because a synchronous replica must have the revocation. A read would not wait for
    // the replica.
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
    // The descendant is already revoked, so this changes nothing.
    expect((await revoke(root, grandchild.id)).body).toEqual({ ...withoutSecret(grandchild), status: "revoked" });
    expect(await trail(grandchild.id)).toHaveLength(0);
  });

  test("a key that changes itself without a pause: still revoked", async () => {
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
      // The response shows the key at its revocation, including changes since the look-up.
      if (how === "DELETE")
        expect([answer.body.name, answer.headers.get("etag")]).toEqual([body.name, headers.get("etag")]);
    }
  });
});

describe("the rotation of a key", () => {
  test("a key, rotated without overlap: a new secret shown once, the old one ends", async () => {
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
    // Descendants of the record stay valid.
    expect(await works(child.apiKey)).toBe(true);
    expect((await get(root, made.id)).text).not.toContain(apiKey);
    expect(await trail(made.id)).toMatchObject([
      { action: "api_key.rotated", changed_fields: ["keyId", "redactedKey"] },
    ]);
  });

  test("a key with an expiry, rotated: the old secret ends at that expiry, even if the expiry is later extended", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await make(root, { expiresAt });
    await rotate(root, made.id, { overlapSeconds: 604_800 });
    await patch(root, made.id, { expiresAt: null });
    const [old] = await api.database.db.client`
      select retired_at from api_key_credentials where key_id = ${made.keyId}`;
    expect(old?.["retired_at"]).toEqual(new Date(expiresAt));
  });
});
