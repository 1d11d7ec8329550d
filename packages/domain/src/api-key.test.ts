import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ApiKey,
  ApiKeyWithSecret,
  attenuate,
  CreateApiKey,
  type Grantor,
  issueApiKey,
  MAX_LINEAGE,
  OPERATOR,
  presentApiKey,
  presentApiKeyWithSecret,
} from "./api-key.ts";
import { ENVIRONMENTS } from "./api-key-secret.ts";
import { type ApiKeyId, newId } from "./id.ts";
import { Problem } from "./problem.ts";
import { isValid, validate } from "./schema.ts";
import { permits, SCOPES } from "./scope.ts";
import { seededBytes } from "./testing.ts";

const random = seededBytes("api-key");
const now = new Date("2026-11-20T12:00:00.000Z");
const tenantId = newId("ten", now, random);
const issue = (request: CreateApiKey, creator: Grantor, judgedAt = now) =>
  issueApiKey(request, creator, { tenantId, judgedAt, now, random });

const problemOf = (work: () => unknown): Problem => {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("no problem was thrown");
};

const lineages = Array.from({ length: MAX_LINEAGE + 1 }, (_, length) =>
  Array.from({ length }, () => newId("key", now, random)),
);
const scopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 });
const cap = fc.option(fc.oneof(fc.nat({ max: 5 }), fc.maxSafeNat()));
const expiry = fc.option(fc.date({ min: new Date("2027-01-01"), max: new Date("2027-01-03"), noInvalidDate: true }));

const caller: fc.Arbitrary<Grantor> = fc.record({
  id: fc.constant<ApiKeyId>(newId("key", now, random)),
  environment: fc.constantFrom(...ENVIRONMENTS),
  scopes,
  spendLimitCreditMicros: cap,
  expiresAt: expiry,
  lineage: fc.constantFrom(...lineages),
});

const request: fc.Arbitrary<CreateApiKey> = fc.record(
  {
    name: fc.constant("child"),
    environment: fc.constantFrom(...ENVIRONMENTS),
    scopes: fc.array(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 16 }),
    spendLimitCreditMicros: cap,
    expiresAt: expiry.map((date) => date?.toISOString() ?? null),
  },
  { requiredKeys: ["name"] },
);

const time = (date: Date | null): number => date?.getTime() ?? Number.POSITIVE_INFINITY;
const limit = (micros: number | null): number => micros ?? Number.POSITIVE_INFINITY;

describe("attenuate", () => {
  test("never widens, on any axis, for any caller and request", () => {
    let granted = 0;
    fc.assert(
      fc.property(caller, request, (from, asked) => {
        const result = attenuate(from, asked);
        if ("refusals" in result) return;
        granted++;
        const { grant } = result;
        for (const scope of SCOPES) {
          if (permits(grant.scopes, scope)) expect(permits(from.scopes, scope)).toBe(true);
        }
        expect(from.environment === "live" || grant.environment === "test").toBe(true);
        expect(time(grant.expiresAt)).toBeLessThanOrEqual(time(from.expiresAt));
        expect(limit(grant.spendLimitCreditMicros)).toBeLessThanOrEqual(limit(from.spendLimitCreditMicros));
        expect(from.lineage.length).toBeLessThan(MAX_LINEAGE);
      }),
      { seed: 8, numRuns: 20_000 },
    );
    // The property is empty unless many requests are granted.
    expect(granted).toBeGreaterThan(1000);
  });

  test("refuses an axis exactly when the request goes beyond the caller on it, and grants what was asked", () => {
    fc.assert(
      fc.property(caller, request, (from, asked) => {
        const wantedScopes = asked.scopes ?? ["realtime:write", "credits:read", "avatars:read"];
        const beyond = {
          "#/scopes": !from.scopes.includes("*") && wantedScopes.some((scope) => !from.scopes.includes(scope)),
          "#/environment": from.environment === "test" && asked.environment === "live",
          "#/spendLimitCreditMicros":
            asked.spendLimitCreditMicros !== undefined &&
            limit(asked.spendLimitCreditMicros) > limit(from.spendLimitCreditMicros),
          "#/expiresAt":
            asked.expiresAt !== undefined &&
            time(asked.expiresAt === null ? null : new Date(asked.expiresAt)) > time(from.expiresAt),
          "#": from.lineage.length === MAX_LINEAGE,
        };
        const expected = Object.entries(beyond).flatMap(([pointer, isBeyond]) => (isBeyond ? [pointer] : []));
        const result = attenuate(from, asked);
        if ("refusals" in result) {
          expect(result.refusals.map(({ pointer }) => pointer ?? "").sort()).toEqual(expected.sort());
        } else {
          expect(expected).toEqual([]);
          expect(result.grant).toEqual({
            environment: asked.environment ?? "test",
            scopes: [...new Set(wantedScopes)],
            spendLimitCreditMicros:
              asked.spendLimitCreditMicros === undefined ? from.spendLimitCreditMicros : asked.spendLimitCreditMicros,
            expiresAt:
              asked.expiresAt === undefined
                ? from.expiresAt
                : asked.expiresAt === null
                  ? null
                  : new Date(asked.expiresAt),
          });
        }
      }),
      { seed: 9, numRuns: 20_000 },
    );
  });

  test("a chain of keys never widens either", () => {
    fc.assert(
      fc.property(caller, fc.array(request, { maxLength: 5 }), (eldest, requests) => {
        let from = eldest;
        for (const asked of requests) {
          const result = attenuate(from, asked);
          if ("refusals" in result) return;
          from = { ...result.grant, id: from.id, lineage: [...from.lineage, newId("key", now, random)] };
        }
        expect(from.scopes.every((scope) => permits(eldest.scopes, scope))).toBe(true);
        expect(time(from.expiresAt)).toBeLessThanOrEqual(time(eldest.expiresAt));
        expect(limit(from.spendLimitCreditMicros)).toBeLessThanOrEqual(limit(eldest.spendLimitCreditMicros));
      }),
      { seed: 10, numRuns: 2000 },
    );
  });

  test("a refusal names the field and what the caller may give", () => {
    const narrow: Grantor = {
      id: newId("key", now, random),
      environment: "test",
      scopes: ["api_keys:write", "avatars:read"],
      spendLimitCreditMicros: 100,
      expiresAt: new Date("2027-01-01T00:00:00.000Z"),
      lineage: [],
    };
    const result = attenuate(narrow, { environment: "live", spendLimitCreditMicros: null, expiresAt: null });
    expect("refusals" in result && result.refusals.map(({ pointer, allowed }) => [pointer, allowed])).toEqual([
      ["#/scopes", ["api_keys:write", "avatars:read"]],
      ["#/environment", ["test"]],
      ["#/spendLimitCreditMicros", { maximum: 100 }],
      ["#/expiresAt", { latest: "2027-01-01T00:00:00.000Z" }],
    ]);
  });
});

describe("issueApiKey", () => {
  test("makes an active record and the secret that belongs to it", () => {
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

  test("extends the lineage by the creator, and by nothing for the operator", () => {
    const [elder, creator] = [newId("key", now, random), newId("key", now, random)];
    const { record } = issue({ name: "x" }, { ...OPERATOR, id: creator, lineage: [elder] });
    expect(record.lineage).toEqual([elder, creator]);
  });

  test("refuses an expiry that is not after the time of judgement, whoever asks", () => {
    for (const expiresAt of ["2026-11-20T12:00:00Z", "2026-11-20T11:59:59.999Z", "0000-01-01T00:00:00Z"]) {
      const problem = problemOf(() => issue({ name: "x", expiresAt }, OPERATOR));
      expect(problem.code).toBe("validation_failed");
      expect(problem.extras.errors).toMatchObject([{ pointer: "#/expiresAt", code: "not_in_future" }]);
    }
    expect(issue({ name: "x", expiresAt: "2026-11-20T12:00:00.001Z" }, OPERATOR).record.expiresAt).toEqual(
      new Date("2026-11-20T12:00:00.001Z"),
    );
  });

  test("throws every refusal at once", () => {
    const creator: Grantor = {
      ...OPERATOR,
      id: newId("key", now, random),
      environment: "test",
      scopes: ["api_keys:write"],
    };
    const problem = problemOf(() => issue({ name: "x", environment: "live" }, creator));
    expect(problem.code).toBe("grant_exceeds_caller");
    expect(problem.extras.errors?.map(({ pointer }) => pointer)).toEqual(["#/scopes", "#/environment"]);
  });

  test("presents what meets the response schemas, the secret only where it belongs", () => {
    const { record, secret } = issue({ name: "x", expiresAt: "2030-01-01T00:00:00Z" }, OPERATOR);
    const shown = presentApiKey(record);
    expect(validate(ApiKey, shown)).toEqual([]);
    expect(JSON.stringify(shown)).not.toContain(secret.reveal());
    const created = presentApiKeyWithSecret(record, secret);
    expect(validate(ApiKeyWithSecret, created)).toEqual([]);
    expect(created.apiKey).toBe(secret.reveal());
    expect(isValid(ApiKey, created)).toBe(false);
  });

  test("every request that the generator makes meets the schema", () => {
    fc.assert(
      fc.property(request, (asked) => expect(validate(CreateApiKey, asked)).toEqual([])),
      { seed: 11 },
    );
  });
});
