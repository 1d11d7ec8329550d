import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ENVIRONMENTS } from "../environment.ts";
import { newId } from "../id.ts";
import { type ApiKeyRecord, presentApiKey } from "./api-key.ts";
import { attenuate, effectiveLimits, type Grantor, MAX_LINEAGE, OPERATOR, personGrantor } from "./grant.ts";
import type { CreateApiKey } from "./schemas.ts";
import { permits, SCOPES } from "./scope.ts";
import { caller, issue, limit, NO_LIMITS, now, random, record, request, testLimits, time } from "./testing.ts";

const RUNS = process.env["LONG"] === "1" ? 20_000 : 1500;

describe("attenuate", () => {
  test("a random grant: exceeds its caller in no field", () => {
    let granted = 0;
    fc.assert(
      fc.property(caller, request, (from, requested) => {
        const result = attenuate(from, requested);
        if ("refusals" in result) return;
        granted++;
        const { grant } = result;
        for (const scope of SCOPES) {
          if (permits(grant.scopes, scope)) expect(permits(from.scopes, scope)).toBe(true);
        }
        expect(from.environment === "live" || grant.environment === "test").toBe(true);
        expect(time(grant.expiresAt)).toBeLessThanOrEqual(time(from.expiresAt));
        expect(limit(grant.spendLimitCreditMicros)).toBeLessThanOrEqual(limit(from.spendLimitCreditMicros));
        expect(limit(grant.maxConcurrentSessions)).toBeLessThanOrEqual(limit(from.maxConcurrentSessions));
        expect(from.lineage.length).toBeLessThan(MAX_LINEAGE);
      }),
      { seed: 8, numRuns: RUNS },
    );
    // The property proves something only when many requests are granted.
    expect(granted).toBeGreaterThan(RUNS / 20);
  });

  test("a random request: refused for exactly the fields that exceed the caller", () => {
    fc.assert(
      fc.property(caller, request, (from, requested) => {
        const requestedScopes = requested.scopes ?? ["realtime:write", "credits:read", "avatars:read"];
        const beyond = {
          "#/scopes": requestedScopes.some(
            (scope) => !from.scopes.includes(scope) && (scope === "usage:write" || !from.scopes.includes("*")),
          ),
          "#/environment": from.environment === "test" && requested.environment === "live",
          "#/spendLimitCreditMicros":
            requested.spendLimitCreditMicros !== undefined &&
            limit(requested.spendLimitCreditMicros) > limit(from.spendLimitCreditMicros),
          "#/maxConcurrentSessions":
            requested.maxConcurrentSessions !== undefined &&
            limit(requested.maxConcurrentSessions) > limit(from.maxConcurrentSessions),
          "#/expiresAt":
            requested.expiresAt !== undefined &&
            time(requested.expiresAt === null ? null : new Date(requested.expiresAt)) > time(from.expiresAt),
          "#": from.lineage.length === MAX_LINEAGE,
        };
        const expected = Object.entries(beyond).flatMap(([pointer, isBeyond]) => (isBeyond ? [pointer] : []));
        const result = attenuate(from, requested);
        if ("refusals" in result) {
          expect(result.refusals.map(({ pointer }) => pointer ?? "").sort()).toEqual(expected.sort());
        } else {
          expect(expected).toEqual([]);
          const { environment = "test" } = requested;
          const scopes = [...new Set(requestedScopes)];
          expect(result.grant).toEqual({ ...testLimits(requested, from), environment, scopes });
        }
      }),
      { seed: 9, numRuns: RUNS },
    );
  });

  test("a random chain of keys, each created by the key before it: none exceeds the first key", () => {
    fc.assert(
      fc.property(caller, fc.array(request, { maxLength: 5 }), (first, requests) => {
        let from = first;
        for (const requested of requests) {
          const result = attenuate(from, requested);
          if ("refusals" in result) return;
          const lineage = [...from.lineage, newId("key", now, random)];
          from = { ...result.grant, id: from.id, lineage, inheritedLimits: NO_LIMITS };
        }
        expect(from.scopes.every((scope) => permits(first.scopes, scope))).toBe(true);
        expect(time(from.expiresAt)).toBeLessThanOrEqual(time(first.expiresAt));
        expect(limit(from.spendLimitCreditMicros)).toBeLessThanOrEqual(limit(first.spendLimitCreditMicros));
        expect(limit(from.maxConcurrentSessions)).toBeLessThanOrEqual(limit(first.maxConcurrentSessions));
      }),
      { seed: 10, numRuns: RUNS / 5 },
    );
  });

  test("a person, granting *: allowed; a person, granting usage:write: refused; the operator, granting either: allowed", () => {
    const refused = (from: Grantor, scopes: CreateApiKey["scopes"] = []) => "refusals" in attenuate(from, { scopes });
    for (const environment of ENVIRONMENTS) {
      const person = personGrantor(environment);
      for (const scope of SCOPES) expect(refused(person, [scope])).toBe(scope === "usage:write");
      expect(refused(person, ["*", "usage:write"])).toBe(true);
    }
    expect(refused(OPERATOR, [...SCOPES])).toBe(false);
  });

  test("a refusal, of several fields: names each field with its allowed values", () => {
    const narrow: Grantor = {
      id: newId("key", now, random),
      environment: "test",
      scopes: ["api_keys:write", "avatars:read"],
      spendLimitCreditMicros: 100,
      maxConcurrentSessions: 5,
      expiresAt: new Date("2027-01-01T00:00:00.000Z"),
      lineage: [],
      inheritedLimits: NO_LIMITS,
    };
    const unlimited = { spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt: null };
    const result = attenuate(narrow, { environment: "live", ...unlimited });
    expect("refusals" in result && result.refusals.map(({ pointer, allowed }) => [pointer, allowed])).toEqual([
      ["#/scopes", ["api_keys:write", "avatars:read"]],
      ["#/environment", ["test"]],
      ["#/spendLimitCreditMicros", { maximum: 100 }],
      ["#/maxConcurrentSessions", { maximum: 5 }],
      ["#/expiresAt", { latest: "2027-01-01T00:00:00.000Z" }],
    ]);
  });
});

test("the effective limits of a key: the tightest of its lineage; spend caps and open sessions only of the same environment", () => {
  const root = record({
    spendLimitCreditMicros: 50,
    maxConcurrentSessions: 9,
    expiresAt: new Date("2030-01-01T00:00:00.000Z"),
  });
  const child = (from: ApiKeyRecord, requested: Partial<CreateApiKey>) =>
    issue({ name: "child", ...requested }, from).record;
  const live = child(root, {
    environment: "live",
    spendLimitCreditMicros: 40,
    maxConcurrentSessions: 7,
    scopes: ["*"],
  });
  expect(presentApiKey(live)).toMatchObject({
    spendLimitCreditMicros: 40,
    effectiveSpendLimitCreditMicros: 40,
    effectiveMaxConcurrentSessions: 7,
    effectiveExpiresAt: "2030-01-01T00:00:00.000Z",
  });
  // As read from the database after the root was narrowed.
  const inheritedLimits = { spendLimitCreditMicros: 0, maxConcurrentSessions: 3, expiresAt: new Date(0) };
  const narrowed = { ...live, inheritedLimits };
  expect(presentApiKey(narrowed)).toMatchObject({
    spendLimitCreditMicros: 40,
    effectiveSpendLimitCreditMicros: 0,
    maxConcurrentSessions: 7,
    effectiveMaxConcurrentSessions: 3,
    expiresAt: "2030-01-01T00:00:00.000Z",
    effectiveExpiresAt: "1970-01-01T00:00:00.000Z",
  });
  // Test use never counts against live caps; an expiry applies in both environments.
  const test = child(narrowed, { environment: "test", expiresAt: "2029-01-01T00:00:00.000Z" });
  expect(test.inheritedLimits).toEqual({ ...NO_LIMITS, expiresAt: new Date(0) });
  const own = { spendLimitCreditMicros: 40, maxConcurrentSessions: 7 };
  expect(effectiveLimits(test)).toEqual({ ...own, expiresAt: new Date(0) });
  expect(effectiveLimits(OPERATOR)).toEqual(NO_LIMITS);
});
