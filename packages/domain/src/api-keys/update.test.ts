import { describe, expect, test } from "bun:test";
import { newId } from "../id.ts";
import { validate } from "../schema.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { type Grantor, OPERATOR } from "./grant.ts";
import { revocableApiKey } from "./revoke.ts";
import { rotatedApiKey } from "./rotate.ts";
import { UpdateApiKey } from "./schemas.ts";
import { always, catchProblem, never, now, random, record } from "./testing.ts";
import { updatedApiKey } from "./update.ts";

describe("updatedApiKey", () => {
  const update = (key: ApiKeyRecord | null, requested: UpdateApiKey, matches = always) =>
    updatedApiKey(key, requested, OPERATOR, { checkedAt: now, matches });

  test("a change, with some values unchanged: names exactly the changed fields", () => {
    const key = record({ name: "a", scopes: ["avatars:read"], spendLimitCreditMicros: 5 });
    const requested = {
      name: "b",
      scopes: ["avatars:read" as const, "avatars:read" as const],
      spendLimitCreditMicros: 5,
    };
    expect(update(key, requested).changedFields).toEqual(["name"]);
    expect(update(key, { expiresAt: "2030-01-01T00:00:00Z" }).changedFields).toEqual(["expiresAt"]);
    expect(update(key, { spendLimitCreditMicros: null, scopes: ["*"] }).changedFields).toEqual([
      "scopes",
      "spendLimitCreditMicros",
    ]);
    expect(update(key, { name: "a" })).toMatchObject({ changedFields: [], record: { version: 2 } });
  });

  test("a change with several faults: checked in the order expiry, existence, grant, version, status", () => {
    const past = "2026-11-20T12:00:00Z";
    const narrow: Grantor = { ...OPERATOR, id: newId("key", now, random), spendLimitCreditMicros: 1 };
    const code = (key: ApiKeyRecord | null, requested: UpdateApiKey, from: Grantor, matches: () => boolean) =>
      catchProblem(() => updatedApiKey(key, requested, from, { checkedAt: now, matches })).code;
    const revoked = record({ status: "revoked" });
    expect(code(null, { expiresAt: past }, narrow, never)).toBe("validation_failed");
    expect(code(null, { name: "x" }, narrow, never)).toBe("not_found");
    expect(code(revoked, { name: "x" }, narrow, never)).toBe("grant_exceeds_caller");
    expect(code(revoked, { name: "x" }, OPERATOR, never)).toBe("precondition_failed");
    expect(code(revoked, { name: "x" }, OPERATOR, always)).toBe("invalid_transition");
  });

  test.each(["revoked", "expired"] as const)("a key, %s: cannot be changed or rotated", (status) => {
    const key = record({ status });
    for (const work of [() => update(key, { name: "x" }), () => rotatedApiKey(key, {}, OPERATOR, random)]) {
      const { code, extras, detail } = catchProblem(work);
      expect([code, extras]).toEqual(["invalid_transition", { currentStatus: status, allowedStatuses: [] }]);
      expect(detail).toBe(`Status is \`${status}\`; allowed transitions: none.`);
    }
    // A second revocation has no effect and is no error.
    expect(revocableApiKey(key, OPERATOR, always)).toBe(key);
  });

  test("a change, empty or of the environment: refused by the schema", () => {
    expect(validate(UpdateApiKey, {})).toMatchObject([{ pointer: "#", code: "too_few" }]);
    expect(validate(UpdateApiKey, { environment: "live" })).toMatchObject([
      { pointer: "#/environment", code: "unknown_field" },
    ]);
  });
});
