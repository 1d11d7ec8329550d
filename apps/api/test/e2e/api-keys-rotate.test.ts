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

  test("a key, rotated with an overlap: the old secret works until its end", async () => {
    const made = await make(root);
    const { body: second } = await rotate(root, made.id, { overlapSeconds: 604_800 });
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([true, true]);
    near((await ends(made.id))[0], 604_800);
    await api.database.db.client`
      update api_key_credentials set retired_at = date_trunc('milliseconds', now()) where key_id = ${made.keyId}`;
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([false, true]);
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

  test("a key, rotating itself: needs an overlap of at least a minute", async () => {
    const made = await make(root);
    for (const body of [{}, { overlapSeconds: 59 }]) {
      const answer = await rotate(made.apiKey, made.id, body);
      expect(outcome(answer)).toEqual([422, "validation_failed"]);
      expect(answer.body.errors).toMatchObject([{ pointer: "#/overlapSeconds", code: "too_short_for_own_key" }]);
    }
    const { body: second } = await rotate(made.apiKey, made.id, { overlapSeconds: 60 });
    expect(await Promise.all([made.apiKey, second.apiKey].map(works))).toEqual([true, true]);
  });

  test.each([-1, 604_801, 1.5, "60", null])("a key, rotated with the overlap %j: 422", async (overlapSeconds) => {
    const made = await make(root);
    const answer = await rotate(root, made.id, { overlapSeconds });
    expect(outcome(answer)).toEqual([422, "validation_failed"]);
    expect(answer.body.errors).toMatchObject([{ pointer: "#/overlapSeconds" }]);
  });

  test("a key, rotated six times at once: two secrets work, one the newest", async () => {
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

  test("a key, rotated by a narrower one or without a body: 403, or 400", async () => {
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
