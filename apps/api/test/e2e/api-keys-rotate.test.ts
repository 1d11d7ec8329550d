/** Rotations of API keys. */
import { describe, expect, test } from "bun:test";
import { ApiKeyWithSecret } from "@realtime-avatar/domain/api-keys/schemas";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { validate } from "@realtime-avatar/domain/schema";
import { startApi } from "../support/api.ts";
import { apiKeyCalls, outcome, PATH } from "../support/api-keys.ts";

const api = await startApi();
const root = await api.key();

const { make, get, patch, rotate, works, trail } = apiKeyCalls(api);

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
    // What descends from the record goes on.
    expect(await works(child.apiKey)).toBe(true);
    expect((await get(root, made.id)).text).not.toContain(apiKey);
    expect(await trail(made.id)).toMatchObject([
      { action: "api_key.rotated", changed_fields: ["keyId", "redactedKey"] },
    ]);
  });

  test("a key with an expiry, rotated: the old secret ends by it, even if it is put off later", async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await make(root, { expiresAt });
    await rotate(root, made.id, { overlapSeconds: 604_800 });
    await patch(root, made.id, { expiresAt: null });
    const [old] = await api.database.db.client`
      select retired_at from api_key_credentials where key_id = ${made.keyId}`;
    expect(old?.["retired_at"]).toEqual(new Date(expiresAt));
  });
});
