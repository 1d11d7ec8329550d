import { expect, test } from "bun:test";
import { isValid, validate } from "../schema.ts";
import { presentApiKey, presentApiKeyWithSecret } from "./api-key.ts";
import { OPERATOR } from "./grant.ts";
import { ApiKey, ApiKeyWithSecret } from "./schemas.ts";
import { issue } from "./testing.ts";

test("the two representations of a key: valid for their schemas; only one contains the secret", () => {
  const { record, secret } = issue({ name: "x", expiresAt: "2030-01-01T00:00:00Z" }, OPERATOR);
  const shown = presentApiKey(record);
  expect(validate(ApiKey, shown)).toEqual([]);
  expect(JSON.stringify(shown)).not.toContain(secret.reveal());
  const created = presentApiKeyWithSecret(record, secret);
  expect(validate(ApiKeyWithSecret, created)).toEqual([]);
  expect(created.apiKey).toBe(secret.reveal());
  expect(isValid(ApiKey, created)).toBe(false);
});

test("the parent of a key, created by another key: that key; of a root key: null", () => {
  const root = issue({ name: "root", scopes: ["*"] }, OPERATOR).record;
  const child = issue({ name: "child", scopes: ["*"] }, root).record;
  const grandchild = issue({ name: "grandchild", scopes: ["*"] }, child).record;
  expect([root, child, grandchild].map((record) => presentApiKey(record).parentId)).toEqual([null, root.id, child.id]);
});
