import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Problem } from "../problem.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { attenuate, type Grant, type Grantor, MAX_LINEAGE, OPERATOR, personGrantor } from "./grant.ts";
import { revocableApiKey } from "./revoke.ts";
import { rotatedApiKey } from "./rotate.ts";
import type { CreateApiKey, UpdateApiKey } from "./schemas.ts";
import { permits, SCOPES } from "./scope.ts";
import {
  always,
  caller,
  cap,
  catchProblem,
  covers,
  expiry,
  issue,
  limit,
  lineages,
  NO_LIMITS,
  now,
  random,
  record,
  request,
  sessionLimit,
  testLimits,
  time,
} from "./testing.ts";
import { updatedApiKey } from "./update.ts";

const RUNS = process.env["LONG"] === "1" ? 3000 : 200;
/** The cases of a property that rarely occurred. Without them, the property would prove too little. */
const rareCases = (seen: Record<string, number>): [string, number][] =>
  Object.entries(seen).filter(([, count]) => count <= RUNS / 50);
const changing = { checkedAt: now, matches: always };

/**
 * The keys of a tenant: each created by the operator or by an earlier key within its grant; then some of them narrowed. As in
 * the database, `inheritedLimits` are computed from the final limits of all ancestors.
 */
const tenantKeys: fc.Arbitrary<ApiKeyRecord[]> = fc
  .array(
    fc.record({
      creator: fc.option(fc.nat(), { freq: 4 }),
      requested: request,
      narrowing: fc.option(caller, { freq: 3 }),
    }),
    { minLength: 2, maxLength: 8 },
  )
  .map((steps) => {
    const keys: ApiKeyRecord[] = [];
    for (const { creator, requested } of steps) {
      const from = creator === null || keys.length === 0 ? OPERATOR : (keys[creator % keys.length] as ApiKeyRecord);
      const attenuated = attenuate(from, requested);
      keys.push(issue("grant" in attenuated ? requested : ownGrant(from), from).record);
    }
    const narrowed = keys.map((key, index) => ({ ...key, ...within(key, steps[index]?.narrowing ?? key) }));
    return narrowed.map((key) => {
      const ancestors = narrowed.filter(({ id }) => key.lineage.includes(id));
      const caps = ancestors.filter(({ environment }) => environment === key.environment);
      return { ...key, inheritedLimits: tightest(ancestors, caps) };
    });
  });

/** A request that every key may make. */
const ownGrant = ({ environment, scopes: held }: Grantor): CreateApiKey => ({
  name: "child",
  environment,
  scopes: [...held],
});

/** The grant of `key`, narrowed to that of `to`. */
const within = (key: Grant, to: Grant) => {
  const from = key.scopes.includes("*") ? to.scopes : key.scopes;
  const scopes = from.filter((scope) => permits(key.scopes, scope) && permits(to.scopes, scope));
  return { scopes: scopes.length > 0 ? scopes : key.scopes, ...tightest([key, to], [key, to]) };
};

const tightest = (expiring: readonly Grant[], capped: readonly Grant[]) => {
  const latest = Math.min(...expiring.map(({ expiresAt }) => time(expiresAt)));
  const cap = Math.min(...capped.map(({ spendLimitCreditMicros }) => limit(spendLimitCreditMicros)));
  const sessions = Math.min(...capped.map(({ maxConcurrentSessions }) => limit(maxConcurrentSessions)));
  return {
    expiresAt: Number.isFinite(latest) ? new Date(latest) : null,
    spendLimitCreditMicros: Number.isFinite(cap) ? cap : null,
    maxConcurrentSessions: Number.isFinite(sessions) ? sessions : null,
  };
};

const effective = (key: Grantor): Grant => ({ ...key, ...tightest([key, effectOf(key)], [key, effectOf(key)]) });
/**
 * A change that gives another key the rights of `from`. A random change rarely gives a key more rights and stays within
 * those of `from`.
 */
const asMuchAs = (from: ApiKeyRecord): UpdateApiKey => {
  const { scopes, expiresAt, spendLimitCreditMicros, maxConcurrentSessions } = effective(from);
  const expiry = expiresAt?.toISOString() ?? null;
  return { scopes: [...scopes], expiresAt: expiry, spendLimitCreditMicros, maxConcurrentSessions };
};
const effectOf = (key: Grantor): Grant => ({ ...key, ...key.inheritedLimits });

describe("the reach of a key", () => {
  const patch: fc.Arbitrary<UpdateApiKey> = fc
    .record(
      {
        name: fc.constant("renamed"),
        scopes: fc.array(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 16 }),
        spendLimitCreditMicros: cap,
        maxConcurrentSessions: sessionLimit,
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
  /** Whether `from` may narrow or revoke `key`, by the rule of docs/keys.md. */
  const narrows = (from: ApiKeyRecord, key: ApiKeyRecord): boolean =>
    descends(key, from) || (!descends(from, key) && covers(from, key));

  const check = (isAllowed: boolean, visible: boolean, work: () => unknown): boolean => {
    if (isAllowed && visible) return Boolean(work());
    const { code, extras } = catchProblem(work);
    expect(code).toBe(visible ? "grant_exceeds_caller" : "not_found");
    if (visible) expect(extras.errors?.length).toBeGreaterThan(0);
    return false;
  };

  test("a random key, rotating another: allowed for itself and for descendants within its grant", () => {
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
      { seed: 10, numRuns: 3 * RUNS },
    );
    // Each key may always rotate itself, even if its lineage was narrowed, and each case occurs.
    expect(rareCases(seen)).toEqual([]);
  });

  test("a random key, changing another: widens only descendants, narrows only keys that it could create", () => {
    const seen = { widened: 0, narrowed: 0, refusedWider: 0, refusedNarrower: 0 };
    fc.assert(
      fc.property(pair, fc.option(patch, { freq: 4 }), ([from, key], drawn) => {
        const requested = drawn ?? asMuchAs(from);
        const scopes = [...new Set(requested.scopes ?? key.scopes)];
        const expectedGrant: Grant = { ...testLimits(requested, key), environment: key.environment, scopes };
        const isWider = !covers(key, expectedGrant);
        // For a limit that the request does not change, the effective limit counts.
        const effectiveGrant = { ...expectedGrant, ...testLimits(requested, effective(key)) };
        const isAllowed = isWider ? descends(key, from) && covers(effective(from), effectiveGrant) : narrows(from, key);
        seen[isAllowed ? (isWider ? "widened" : "narrowed") : isWider ? "refusedWider" : "refusedNarrower"]++;
        check(isAllowed, isVisible(from, key), () => {
          const { record: after } = updatedApiKey(key, requested, from, changing);
          expect(after).toEqual({
            ...key,
            ...expectedGrant,
            name: requested.name ?? key.name,
            version: key.version + 1,
          });
          return after;
        });
      }),
      { seed: 9, numRuns: 3 * RUNS },
    );
    expect(rareCases(seen)).toEqual([]);
  });

  test("a random key, revoking another: allowed for itself, descendants, and every key that it could create except ancestors", () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(pair, ([from, key]) => {
        const isAllowed = narrows(from, key);
        seen[isAllowed ? "yes" : "no"]++;
        check(isAllowed, isVisible(from, key), () => revocableApiKey(key, from, always));
        if (from.id === key.id) expect(isAllowed).toBe(true);
      }),
      { seed: 11, numRuns: RUNS },
    );
    expect(rareCases(seen)).toEqual([]);
  });

  test("a random key, rotating or widening another: allowed only for keys that its own revocation also revokes", () => {
    fc.assert(
      fc.property(pair, patch, ([attacker, key], requested) => {
        const outlives = !(key.id === attacker.id || descends(key, attacker));
        if (!outlives) return;
        expect(() => rotatedApiKey(key, { overlapSeconds: 60 }, attacker, random)).toThrow(Problem);
        try {
          const { record: after } = updatedApiKey(key, requested, attacker, changing);
          expect(covers(key, after)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(Problem);
        }
      }),
      { seed: 12, numRuns: RUNS },
    );
  });

  test("a person or a key without usage:write, among any keys: gets neither a secret nor a key with usage:write", () => {
    const seen = { created: 0, rotated: 0, widened: 0 };
    const hasIt = ({ scopes }: Grant): boolean => scopes.includes("usage:write");
    const succeeds = <Result>(work: () => Result): Result | null => {
      try {
        return work();
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
        return null;
      }
    };
    fc.assert(
      fc.property(pair, patch, request, fc.boolean(), ([attacker, key], changed, created, isPerson) => {
        const from: Grantor = isPerson ? personGrantor(attacker.environment) : attacker;
        if (hasIt(from)) return;
        const child = succeeds(() => issue(created, from));
        if (child) expect(hasIt(child.record)).toBe(false);
        const rotated = succeeds(() => rotatedApiKey(key, { overlapSeconds: 60 }, from, random));
        if (rotated) expect(hasIt(rotated.record)).toBe(false);
        const updated = succeeds(() => updatedApiKey(key, changed, from, changing));
        // The caller may narrow or revoke a key with usage:write.
        if (updated && hasIt(updated.record)) expect(covers(key, updated.record)).toBe(true);
        if (isPerson && isVisible(from, key)) expect(revocableApiKey(key, from, always)).toBe(key);
        if (child) seen.created++;
        if (rotated) seen.rotated++;
        if (updated && !covers(key, updated.record)) seen.widened++;
      }),
      { seed: 13, numRuns: 2 * RUNS },
    );
    expect(rareCases(seen)).toEqual([]);
  });

  test("an equal sibling, changed: narrowed and revoked, not rotated or widened", () => {
    const parent = record();
    const [attacker, sibling] = [parent, parent].map((from) =>
      issue({ name: "child", environment: "live", scopes: ["api_keys:write"], spendLimitCreditMicros: 5 }, from),
    ) as [ReturnType<typeof issue>, ReturnType<typeof issue>];
    const change = (requested: UpdateApiKey) => () =>
      updatedApiKey({ ...sibling.record, spendLimitCreditMicros: 4 }, requested, attacker.record, changing);
    for (const work of [
      () => rotatedApiKey(sibling.record, {}, attacker.record, random),
      change({ spendLimitCreditMicros: 5 }),
    ]) {
      const { code, extras } = catchProblem(work);
      expect(code).toBe("grant_exceeds_caller");
      expect(extras.errors).toMatchObject([{ pointer: "#", code: "not_descendant", allowed: null }]);
    }
    expect(change({ spendLimitCreditMicros: 3 })().record.spendLimitCreditMicros).toBe(3);
    expect(revocableApiKey(sibling.record, attacker.record, always)).toBe(sibling.record);
  });

  test("a narrowed ancestor, changing descendants: narrows and revokes, rotates those within its grant", () => {
    const parent = record();
    const child = issue({ name: "child", environment: "live", scopes: ["*"] }, parent).record;
    const narrowed: ApiKeyRecord = { ...parent, scopes: ["api_keys:write"], spendLimitCreditMicros: 1 };
    const inheriting = { ...child, inheritedLimits: { ...NO_LIMITS, spendLimitCreditMicros: 1 } };
    expect(revocableApiKey(inheriting, narrowed, always)).toBe(inheriting);
    const narrowedChild = updatedApiKey(inheriting, { scopes: ["api_keys:write"] }, narrowed, changing);
    expect(catchProblem(() => rotatedApiKey(inheriting, {}, narrowed, random)).extras.errors).toMatchObject([
      { pointer: "#/scopes", code: "exceeds_caller", allowed: ["api_keys:write"] },
    ]);
    // The child has no cap; the cap of its parent applies.
    expect(rotatedApiKey(narrowedChild.record, {}, narrowed, random).record.version).toBe(
      narrowedChild.record.version + 1,
    );
    const widened = updatedApiKey(
      { ...narrowedChild.record, scopes: ["avatars:read"] },
      { scopes: ["api_keys:write"] },
      narrowed,
      changing,
    );
    expect(widened.record.scopes).toEqual(["api_keys:write"]);
  });

  test("a key, with the maximum of ancestors: cannot create keys, but manages the keys in its reach", () => {
    const deepest = record({ lineage: lineages[MAX_LINEAGE] ?? [] });
    expect(catchProblem(() => issue({ name: "x", scopes: ["*"] }, deepest)).code).toBe("grant_exceeds_caller");
    expect(revocableApiKey(record(), deepest, always).status).toBe("active");
  });

  test("an ancestor, changed, rotated or revoked by a descendant: refused", () => {
    const parent = record();
    const child = record({ lineage: [...(lineages[2] ?? []), parent.id] });
    const grandchild = record({ lineage: [...child.lineage, child.id] });
    for (const work of [
      () => updatedApiKey(parent, { name: "x" }, grandchild, changing),
      () => rotatedApiKey(parent, {}, grandchild, random),
      () => revocableApiKey(parent, grandchild, always),
      () => revocableApiKey(child, grandchild, always),
    ]) {
      const { code, extras } = catchProblem(work);
      expect(code).toBe("grant_exceeds_caller");
      expect(extras.errors).toMatchObject([{ pointer: "#", code: "is_ancestor", allowed: null }]);
    }
    expect(revocableApiKey(grandchild, parent, always)).toBe(grandchild);
  });
});
