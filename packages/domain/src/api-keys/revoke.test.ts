import { expect, test } from "bun:test";
import { newId } from "../id.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { type Grantor, OPERATOR } from "./grant.ts";
import { revocableApiKey } from "./revoke.ts";
import { always, catchProblem, never, now, random, record } from "./testing.ts";

test("a revocation with several faults: existence is checked before grant, grant before version", () => {
  const narrow: Grantor = { ...OPERATOR, id: newId("key", now, random), scopes: ["avatars:read"] };
  const code = (key: ApiKeyRecord | null, caller: Grantor) =>
    catchProblem(() => revocableApiKey(key, caller, never)).code;
  expect(code(null, narrow)).toBe("not_found");
  expect(code(record(), narrow)).toBe("grant_exceeds_caller");
  expect(code(record(), OPERATOR)).toBe("precondition_failed");
});

test.each(["active", "revoked", "expired"] as const)("a key, %s: can be revoked", (status) => {
  const key = record({ status });
  expect(revocableApiKey(key, OPERATOR, always)).toBe(key);
});
