import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newId } from "../id.ts";
import { validate } from "../schema.ts";
import { type Grantor, OPERATOR } from "./grant.ts";
import { CreateApiKey } from "./schemas.ts";
import { catchProblem, issue, now, random, request, tenantId } from "./testing.ts";

describe("issueApiKey", () => {
  test("a key, issued: an active record and its secret", () => {
    const { record, secret } = issue({ name: "ops", scopes: ["*", "*"], environment: "live" }, OPERATOR);
    expect(record).toMatchObject({
      tenantId,
      keyId: secret.keyId,
      name: "ops",
      environment: "live",
      scopes: ["*"],
      status: "active",
      spendLimitCreditMicros: null,
      expiresAt: null,
      lineage: [],
      version: 1,
      createdAt: now,
    });
    expect(secret.environment).toBe("live");
  });

  test("the lineage of a new key: the lineage of its creator, then the creator", () => {
    const [parent, creator] = [newId("key", now, random), newId("key", now, random)];
    const { record } = issue({ name: "x" }, { ...OPERATOR, id: creator, lineage: [parent] });
    expect(record.lineage).toEqual([parent, creator]);
  });

  test("an expiry, not after the time of the check: refused, also for the operator", () => {
    for (const expiresAt of ["2026-11-20T12:00:00Z", "2026-11-20T11:59:59.999Z", "0000-01-01T00:00:00Z"]) {
      const problem = catchProblem(() => issue({ name: "x", expiresAt }, OPERATOR));
      expect(problem.code).toBe("validation_failed");
      expect(problem.extras.errors).toMatchObject([{ pointer: "#/expiresAt", code: "not_in_future" }]);
    }
    expect(issue({ name: "x", expiresAt: "2026-11-20T12:00:00.001Z" }, OPERATOR).record.expiresAt).toEqual(
      new Date("2026-11-20T12:00:00.001Z"),
    );
  });

  test("a request, refused for several reasons: all at once", () => {
    const creator: Grantor = {
      ...OPERATOR,
      id: newId("key", now, random),
      environment: "test",
      scopes: ["api_keys:write"],
    };
    const problem = catchProblem(() => issue({ name: "x", environment: "live" }, creator));
    expect(problem.code).toBe("grant_exceeds_caller");
    expect(problem.extras.errors?.map(({ pointer }) => pointer)).toEqual(["#/scopes", "#/environment"]);
  });

  test("a request, generated: valid for the schema", () => {
    fc.assert(
      fc.property(request, (requested) => expect(validate(CreateApiKey, requested)).toEqual([])),
      { seed: 11 },
    );
  });
});
