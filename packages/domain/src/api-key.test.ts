import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fc from "fast-check";
import {
  ApiKey,
  type ApiKeyRecord,
  ApiKeyWithSecret,
  attenuate,
  CreateApiKey,
  effectiveLimits,
  type Grant,
  type Grantor,
  issueApiKey,
  MAX_LINEAGE,
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

// No test asserts a time: a busy machine must not fail one.
setDefaultTimeout(60_000);

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
  inheritedLimits: fc.record({ spendLimitCreditMicros: cap, expiresAt: expiry }),
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

const NO_LIMITS = { spendLimitCreditMicros: null, expiresAt: null };

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
          const lineage = [...from.lineage, newId("key", now, random)];
          from = { ...result.grant, id: from.id, lineage, inheritedLimits: NO_LIMITS };
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
      inheritedLimits: NO_LIMITS,
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

describe("effective limits", () => {
  test("are the tightest of the lineage, and of the environment for spending", () => {
    const root = record({ spendLimitCreditMicros: 50, expiresAt: new Date("2030-01-01T00:00:00.000Z") });
    const child = (from: ApiKeyRecord, asked: Partial<CreateApiKey>) => issue({ name: "child", ...asked }, from).record;
    const live = child(root, { environment: "live", spendLimitCreditMicros: 40, scopes: ["*"] });
    expect(presentApiKey(live)).toMatchObject({
      spendLimitCreditMicros: 40,
      effectiveSpendLimitCreditMicros: 40,
      effectiveExpiresAt: "2030-01-01T00:00:00.000Z",
    });
    // As the database tells it after the root was narrowed.
    const narrowed = { ...live, inheritedLimits: { spendLimitCreditMicros: 0, expiresAt: new Date(0) } };
    expect(presentApiKey(narrowed)).toMatchObject({
      spendLimitCreditMicros: 40,
      effectiveSpendLimitCreditMicros: 0,
      expiresAt: "2030-01-01T00:00:00.000Z",
      effectiveExpiresAt: "1970-01-01T00:00:00.000Z",
    });
    // Test use never counts against live caps; an expiry holds in both.
    const test = child(narrowed, { environment: "test", expiresAt: "2029-01-01T00:00:00.000Z" });
    expect(test.inheritedLimits).toEqual({ spendLimitCreditMicros: null, expiresAt: new Date(0) });
    expect(effectiveLimits(test)).toEqual({ spendLimitCreditMicros: 40, expiresAt: new Date(0) });
    expect(effectiveLimits(OPERATOR)).toEqual(NO_LIMITS);
  });
});

/**
 * A tenant's keys: some issued by the operator, the others by a key before them as far as it may, and then some of them
 * narrowed. Limits are inherited as the database tells them: over all ancestors as they are at last.
 */
const tenantKeys: fc.Arbitrary<ApiKeyRecord[]> = fc
  .array(
    fc.record({ creator: fc.option(fc.nat(), { freq: 4 }), asked: request, narrowing: fc.option(caller, { freq: 3 }) }),
    { minLength: 2, maxLength: 8 },
  )
  .map((steps) => {
    const keys: ApiKeyRecord[] = [];
    for (const { creator, asked } of steps) {
      const from = creator === null || keys.length === 0 ? OPERATOR : (keys[creator % keys.length] as ApiKeyRecord);
      const attenuated = attenuate(from, asked);
      keys.push(issue("grant" in attenuated ? asked : permitted(from), from).record);
    }
    const narrowed = keys.map((key, index) => ({ ...key, ...within(key, steps[index]?.narrowing ?? key) }));
    return narrowed.map((key) => {
      const ancestors = narrowed.filter(({ id }) => key.lineage.includes(id));
      const caps = ancestors.filter(({ environment }) => environment === key.environment);
      return { ...key, inheritedLimits: tightest(ancestors, caps) };
    });
  });

/** What any key may ask for another. */
const permitted = ({ environment, scopes: held }: Grantor): CreateApiKey => ({
  name: "child",
  environment,
  scopes: [...held],
});

/** `key` narrowed by what `to` lacks. */
const within = (key: Grant, to: Grant) => {
  const scopes = key.scopes.includes("*") ? to.scopes : key.scopes.filter((scope) => permits(to.scopes, scope));
  return { scopes: scopes.length > 0 ? scopes : key.scopes, ...tightest([key, to], [key, to]) };
};

const tightest = (expiring: readonly Grant[], capped: readonly Grant[]) => {
  const latest = Math.min(...expiring.map(({ expiresAt }) => time(expiresAt)));
  const cap = Math.min(...capped.map(({ spendLimitCreditMicros }) => limit(spendLimitCreditMicros)));
  return {
    expiresAt: Number.isFinite(latest) ? new Date(latest) : null,
    spendLimitCreditMicros: Number.isFinite(cap) ? cap : null,
  };
};

const effective = (key: Grantor): Grant => ({ ...key, ...tightest([key, effectOf(key)], [key, effectOf(key)]) });
const effectOf = (key: Grantor): Grant => ({ ...key, ...key.inheritedLimits });

describe("reach", () => {
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

  /** Two keys of one tenant, often related. */
  const pair = fc
    .tuple(tenantKeys, fc.nat(), fc.nat())
    .map(([keys, from, to]) => [keys[from % keys.length], keys[to % keys.length]] as [ApiKeyRecord, ApiKeyRecord]);
  const isVisible = (from: Grant, key: Grant): boolean => from.environment === "live" || key.environment === "test";
  const descends = (key: ApiKeyRecord, from: ApiKeyRecord): boolean => key.lineage.includes(from.id);
  /** Whether `from` may narrow or revoke `key`, by the rule rather than by the code. */
  const narrows = (from: ApiKeyRecord, key: ApiKeyRecord): boolean =>
    descends(key, from) || (!descends(from, key) && covers(from, key));

  const check = (isAllowed: boolean, visible: boolean, work: () => unknown): boolean => {
    if (isAllowed && visible) return Boolean(work());
    const { code, extras } = problemOf(work);
    expect(code).toBe(visible ? "grant_exceeds_caller" : "not_found");
    if (visible) expect(extras.errors?.length).toBeGreaterThan(0);
    return false;
  };

  test("a new secret is only for the key itself and its descendants that can do no more", () => {
    const seen = { own: 0, descendant: 0, beyond: 0, foreign: 0 };
    fc.assert(
      fc.property(pair, ([from, key]) => {
        const isOwn = from.id === key.id;
        const isRelated = isOwn || descends(key, from);
        const isAllowed = isRelated && covers(effective(from), effective(key));
        if (isAllowed) seen[isOwn ? "own" : "descendant"]++;
        else seen[isRelated ? "beyond" : "foreign"]++;
        check(isAllowed, isVisible(from, key), () => rotatedApiKey(key, { overlapSeconds: 60 }, from, random));
      }),
      { seed: 10, numRuns: 3000 },
    );
    // Each key may always rotate itself, however its lineage was narrowed, and each case is met.
    expect(Object.values(seen).every((count) => count > 20)).toBe(true);
  });

  test("a key widens its descendants alone, and never beyond itself; it narrows what it could create", () => {
    const seen = { widened: 0, narrowed: 0, refusedWider: 0, refusedNarrower: 0 };
    fc.assert(
      fc.property(pair, patch, ([from, key], asked) => {
        const wanted: Grant = {
          environment: key.environment,
          scopes: [...new Set(asked.scopes ?? key.scopes)],
          spendLimitCreditMicros:
            asked.spendLimitCreditMicros === undefined ? key.spendLimitCreditMicros : asked.spendLimitCreditMicros,
          expiresAt:
            asked.expiresAt === undefined ? key.expiresAt : asked.expiresAt === null ? null : new Date(asked.expiresAt),
        };
        const isWider = !covers(key, wanted);
        // What is left as it is counts as what it is worth under the lineage.
        const counted = {
          ...wanted,
          ...(asked.spendLimitCreditMicros === undefined
            ? { spendLimitCreditMicros: effective(key).spendLimitCreditMicros }
            : {}),
          ...(asked.expiresAt === undefined ? { expiresAt: effective(key).expiresAt } : {}),
        };
        const isAllowed = isWider ? descends(key, from) && covers(effective(from), counted) : narrows(from, key);
        seen[isAllowed ? (isWider ? "widened" : "narrowed") : isWider ? "refusedWider" : "refusedNarrower"]++;
        check(isAllowed, isVisible(from, key), () => {
          const { record: after } = updatedApiKey(key, asked, from, { judgedAt: now, matches: always });
          expect(after).toEqual({ ...key, ...wanted, name: asked.name ?? key.name, version: key.version + 1 });
          return after;
        });
      }),
      { seed: 9, numRuns: 6000 },
    );
    expect(Object.values(seen).every((count) => count > 20)).toBe(true);
  });

  test("a key revokes itself, its descendants, and any key that it could create but its ancestors", () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(pair, ([from, key]) => {
        const isAllowed = narrows(from, key);
        seen[isAllowed ? "yes" : "no"]++;
        check(isAllowed, isVisible(from, key), () => revocableApiKey(key, from, always));
        if (from.id === key.id) expect(isAllowed).toBe(true);
      }),
      { seed: 11, numRuns: 3000 },
    );
    expect(Object.values(seen).every((count) => count > 20)).toBe(true);
  });

  test("whatever a key is given a new secret for, or widens, ends when the key is revoked", () => {
    fc.assert(
      fc.property(pair, patch, ([thief, key], asked) => {
        const outlives = !(key.id === thief.id || descends(key, thief));
        if (!outlives) return;
        expect(() => rotatedApiKey(key, { overlapSeconds: 60 }, thief, random)).toThrow(Problem);
        try {
          const { record: after } = updatedApiKey(key, asked, thief, { judgedAt: now, matches: always });
          expect(covers(key, after)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }),
      { seed: 12, numRuns: 3000 },
    );
  });

  test("an equal sibling is narrowed and revoked, and neither rotated nor widened", () => {
    const parent = record();
    const [thief, sibling] = [parent, parent].map((from) =>
      issue({ name: "child", environment: "live", scopes: ["api_keys:write"], spendLimitCreditMicros: 5 }, from),
    ) as [ReturnType<typeof issue>, ReturnType<typeof issue>];
    const change = (asked: UpdateApiKey) => () =>
      updatedApiKey({ ...sibling.record, spendLimitCreditMicros: 4 }, asked, thief.record, {
        judgedAt: now,
        matches: always,
      });
    for (const work of [
      () => rotatedApiKey(sibling.record, {}, thief.record, random),
      change({ spendLimitCreditMicros: 5 }),
    ]) {
      const { code, extras } = problemOf(work);
      expect(code).toBe("grant_exceeds_caller");
      expect(extras.errors).toMatchObject([{ pointer: "#", code: "not_descendant", allowed: null }]);
    }
    expect(change({ spendLimitCreditMicros: 3 })().record.spendLimitCreditMicros).toBe(3);
    expect(revocableApiKey(sibling.record, thief.record, always)).toBe(sibling.record);
  });

  test("an ancestor that was narrowed since still narrows and revokes its descendants, and rotates what it covers", () => {
    const parent = record();
    const child = issue({ name: "child", environment: "live", scopes: ["*"] }, parent).record;
    const narrowed: ApiKeyRecord = { ...parent, scopes: ["api_keys:write"], spendLimitCreditMicros: 1 };
    const now1 = { ...child, inheritedLimits: { spendLimitCreditMicros: 1, expiresAt: null } };
    expect(revocableApiKey(now1, narrowed, always)).toBe(now1);
    const cut = updatedApiKey(now1, { scopes: ["api_keys:write"] }, narrowed, { judgedAt: now, matches: always });
    expect(problemOf(() => rotatedApiKey(now1, {}, narrowed, random)).extras.errors).toMatchObject([
      { pointer: "#/scopes", code: "exceeds_caller", allowed: ["api_keys:write"] },
    ]);
    // The child has no cap of its own; under its parent's it can spend no more than the parent.
    expect(rotatedApiKey(cut.record, {}, narrowed, random).record.version).toBe(cut.record.version + 1);
    const widened = updatedApiKey(
      { ...cut.record, scopes: ["avatars:read"] },
      { scopes: ["api_keys:write"] },
      narrowed,
      {
        judgedAt: now,
        matches: always,
      },
    );
    expect(widened.record.scopes).toEqual(["api_keys:write"]);
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
    const narrow: Grantor = { ...OPERATOR, id: newId("key", now, random), spendLimitCreditMicros: 1 };
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
      expect(detail).toBe(`Status is \`${status}\`; allowed transitions: none.`);
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
    const narrow: Grantor = { ...OPERATOR, id: newId("key", now, random), spendLimitCreditMicros: 1 };
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

  test("with the older secret of an overlap, the overlap asked for is ignored", () => {
    const key = record();
    const caller = { ...key, credentialKeyId: "0123456789ABCDEF" };
    expect(rotatedApiKey(key, {}, caller, random).record.version).toBe(2);
    const withNewest = { ...key, credentialKeyId: key.keyId };
    expect(problemOf(() => rotatedApiKey(key, {}, withNewest, random)).code).toBe("validation_failed");
  });
});
