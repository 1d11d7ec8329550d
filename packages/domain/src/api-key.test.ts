import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  ApiKey,
  type ApiKeyRecord,
  ApiKeyWithSecret,
  attenuate,
  CreateApiKey,
  type Grant,
  type Grantor,
  issueApiKey,
  MAX_LINEAGE,
  managedEnvironments,
  OPERATOR,
  presentApiKey,
  presentApiKeyWithSecret,
  revocableApiKey,
  rotatedApiKey,
  UpdateApiKey,
  updatedApiKey,
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

/** Whether a key that may do `grant` is one that `from` could create. */
const covers = (from: Grant, grant: Grant): boolean =>
  SCOPES.every((scope) => !permits(grant.scopes, scope) || permits(from.scopes, scope)) &&
  (from.environment === "live" || grant.environment === "test") &&
  time(grant.expiresAt) <= time(from.expiresAt) &&
  limit(grant.spendLimitCreditMicros) <= limit(from.spendLimitCreditMicros);

const record = (fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  ...issue({ name: "a key", environment: "live", scopes: ["*"] }, OPERATOR).record,
  ...fields,
});
const always = () => true;
const never = () => false;

describe("reach", () => {
  const target: fc.Arbitrary<ApiKeyRecord> = fc
    .record({ environment: fc.constantFrom(...ENVIRONMENTS), scopes, spendLimitCreditMicros: cap, expiresAt: expiry })
    .map(record);
  const patch: fc.Arbitrary<UpdateApiKey> = fc
    .record(
      {
        name: fc.constant("renamed"),
        scopes: fc.array(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 16 }),
        spendLimitCreditMicros: cap,
        expiresAt: expiry.map((date) => date?.toISOString() ?? null),
      },
      { requiredKeys: [] },
    )
    .filter((fields) => Object.keys(fields).length > 0);

  test("to change a key, it must be coverable as it is and as it would become; then it becomes just that", () => {
    let changed = 0;
    fc.assert(
      fc.property(caller, target, patch, (from, key, asked) => {
        const wanted: Grant = {
          environment: key.environment,
          scopes: [...new Set(asked.scopes ?? key.scopes)],
          spendLimitCreditMicros:
            asked.spendLimitCreditMicros === undefined ? key.spendLimitCreditMicros : asked.spendLimitCreditMicros,
          expiresAt:
            asked.expiresAt === undefined ? key.expiresAt : asked.expiresAt === null ? null : new Date(asked.expiresAt),
        };
        const change = () => updatedApiKey(key, asked, from, { judgedAt: now, matches: always });
        if (!managedEnvironments(from.environment).includes(key.environment)) {
          expect(problemOf(change).code).toBe("not_found");
        } else if (!covers(from, key) || !covers(from, wanted)) {
          const { code, extras } = problemOf(change);
          expect(code).toBe("grant_exceeds_caller");
          expect(extras.errors?.length).toBeGreaterThan(0);
        } else {
          changed++;
          expect(change().record).toEqual({
            ...key,
            ...wanted,
            name: asked.name ?? key.name,
            version: key.version + 1,
          });
        }
      }),
      { seed: 9, numRuns: 20_000 },
    );
    expect(changed).toBeGreaterThan(1000);
  });

  test("nobody widens its own key, on any axis; anybody may narrow, rotate and revoke it", () => {
    let narrowed = 0;
    fc.assert(
      fc.property(target, patch, (key, asked) => {
        try {
          const { record: after } = updatedApiKey(key, asked, key, { judgedAt: now, matches: always });
          narrowed++;
          expect(covers(key, after)).toBe(true);
        } catch (error) {
          expect((error as Problem).code).toBe("grant_exceeds_caller");
        }
        expect(rotatedApiKey(key, { overlapSeconds: 60 }, key, random).record.version).toBe(key.version + 1);
        expect(revocableApiKey(key, key, always)).toBe(key);
      }),
      { seed: 10, numRuns: 5000 },
    );
    expect(narrowed).toBeGreaterThan(500);
  });

  test("to rotate or revoke a key, it must be coverable as it is", () => {
    fc.assert(
      fc.property(caller, target, (from, key) => {
        const isVisible = managedEnvironments(from.environment).includes(key.environment);
        const rotated = () => rotatedApiKey(key, {}, from, random).target;
        for (const work of [rotated, () => revocableApiKey(key, from, always)]) {
          if (isVisible && covers(from, key)) expect(work()).toBe(key);
          else expect(problemOf(work).code).toBe(isVisible ? "grant_exceeds_caller" : "not_found");
        }
      }),
      { seed: 11, numRuns: 5000 },
    );
  });

  test("a key at the end of its lineage creates no keys, and still manages those within its reach", () => {
    const deepest = record({ lineage: lineages[MAX_LINEAGE] ?? [] });
    expect(problemOf(() => issue({ name: "x", scopes: ["*"] }, deepest)).code).toBe("grant_exceeds_caller");
    expect(revocableApiKey(record(), deepest, always).status).toBe("active");
  });

  test("no ancestor is within it, however much the caller may do", () => {
    const parent = record();
    const child = record({ lineage: [...(lineages[2] ?? []), parent.id] });
    const grandchild = record({ lineage: [...child.lineage, child.id] });
    for (const work of [
      () => updatedApiKey(parent, { name: "x" }, grandchild, { judgedAt: now, matches: always }),
      () => rotatedApiKey(parent, {}, grandchild, random),
      () => revocableApiKey(parent, grandchild, always),
      () => revocableApiKey(child, grandchild, always),
    ]) {
      const { code, extras } = problemOf(work);
      expect(code).toBe("grant_exceeds_caller");
      expect(extras.errors).toMatchObject([{ pointer: "#", code: "is_ancestor", allowed: null }]);
    }
    expect(revocableApiKey(grandchild, parent, always)).toBe(grandchild);
  });
});

describe("updatedApiKey", () => {
  const update = (key: ApiKeyRecord | null, asked: UpdateApiKey, matches = always) =>
    updatedApiKey(key, asked, OPERATOR, { judgedAt: now, matches });

  test("names the fields that differ, and no other", () => {
    const key = record({ name: "a", scopes: ["avatars:read"], spendLimitCreditMicros: 5 });
    const asked = { name: "b", scopes: ["avatars:read" as const, "avatars:read" as const], spendLimitCreditMicros: 5 };
    expect(update(key, asked).changedFields).toEqual(["name"]);
    expect(update(key, { expiresAt: "2030-01-01T00:00:00Z" }).changedFields).toEqual(["expiresAt"]);
    expect(update(key, { spendLimitCreditMicros: null, scopes: ["*"] }).changedFields).toEqual([
      "scopes",
      "spendLimitCreditMicros",
    ]);
    expect(update(key, { name: "a" })).toMatchObject({ changedFields: [], record: { version: 2 } });
  });

  test("judges the future, then whether there is a key, the grant, the version, and the state", () => {
    const past = "2026-11-20T12:00:00Z";
    const narrow: Grantor = { ...OPERATOR, spendLimitCreditMicros: 1 };
    const code = (key: ApiKeyRecord | null, asked: UpdateApiKey, from: Grantor, matches: () => boolean) =>
      problemOf(() => updatedApiKey(key, asked, from, { judgedAt: now, matches })).code;
    const revoked = record({ status: "revoked" });
    expect(code(null, { expiresAt: past }, narrow, never)).toBe("validation_failed");
    expect(code(null, { name: "x" }, narrow, never)).toBe("not_found");
    expect(code(revoked, { name: "x" }, narrow, never)).toBe("grant_exceeds_caller");
    expect(code(revoked, { name: "x" }, OPERATOR, never)).toBe("precondition_failed");
    expect(code(revoked, { name: "x" }, OPERATOR, always)).toBe("invalid_transition");
  });

  test.each(["revoked", "expired"] as const)("changes and rotates nothing that is %s, and says so", (status) => {
    const key = record({ status });
    for (const work of [() => update(key, { name: "x" }), () => rotatedApiKey(key, {}, OPERATOR, random)]) {
      const { code, extras, detail } = problemOf(work);
      expect([code, extras]).toEqual(["invalid_transition", { currentStatus: status, allowedStatuses: [] }]);
      expect(detail).toBe(`It is ${status}; from there it can be made nothing else.`);
    }
    // To revoke it again is no change, and no error.
    expect(revocableApiKey(key, OPERATOR, always)).toBe(key);
  });

  test("cannot be asked for nothing, nor for what a key is born with", () => {
    expect(validate(UpdateApiKey, {})).toMatchObject([{ pointer: "#", code: "too_few" }]);
    expect(validate(UpdateApiKey, { environment: "live" })).toMatchObject([
      { pointer: "#/environment", code: "unknown_field" },
    ]);
  });
});

describe("rotatedApiKey", () => {
  test("gives the record another credential, and nothing else", () => {
    const key = record({ spendLimitCreditMicros: 7, lineage: lineages[3] ?? [] });
    const { record: after, secret, overlapSeconds } = rotatedApiKey(key, {}, OPERATOR, random);
    expect(after).toEqual({ ...key, keyId: secret.keyId, version: 2 });
    expect([secret.environment, overlapSeconds]).toEqual(["live", 0]);
    expect(secret.keyId).not.toBe(key.keyId);
  });

  test("judges whether there is a key, the overlap, the reach, and the state", () => {
    const narrow: Grantor = { ...OPERATOR, spendLimitCreditMicros: 1 };
    const own = record({ status: "revoked" });
    const code = (key: ApiKeyRecord | null, from: Grantor) =>
      problemOf(() => rotatedApiKey(key, {}, from, random)).code;
    expect(code(null, narrow)).toBe("not_found");
    expect(code(own, own)).toBe("validation_failed");
    expect(code(own, narrow)).toBe("grant_exceeds_caller");
    expect(code(own, OPERATOR)).toBe("invalid_transition");
  });

  test.each([
    [undefined, "too_short_for_own_key"],
    [0, "too_short_for_own_key"],
    [59, "too_short_for_own_key"],
    [60, null],
  ])("of the caller's own key with an overlap of %j", (overlapSeconds, refused) => {
    const key = record();
    const asked = overlapSeconds === undefined ? {} : { overlapSeconds };
    const work = () => rotatedApiKey(key, asked, key, random);
    if (refused === null) return expect(work().overlapSeconds).toBe(60);
    expect(problemOf(work).extras.errors).toMatchObject([{ pointer: "#/overlapSeconds", code: refused }]);
  });
});
