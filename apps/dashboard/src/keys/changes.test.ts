/** The dialog's text about a change, compared with the service's decision. */
import { expect, test } from "bun:test";
import type { ApiKey } from "@realtime-avatar/client";
import { isWider } from "@realtime-avatar/domain/api-keys/reach";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import fc from "fast-check";
import { compareFields, descendantsText, effectText, type Fields, inheritedLimits, updateRequest } from "./changes.ts";

const NO_LIMITS = { maxConcurrentSessions: null, expiresAt: null };
const key = (fields: Partial<ApiKey>): ApiKey => {
  const own = { name: "n", scopes: ["*" as const], spendLimitCreditMicros: null, ...NO_LIMITS, ...fields };
  return {
    ...{ id: "key_1", keyId: "k", tenantId: "ten_1", parentId: null, environment: "live", redactedKey: "r" },
    ...{ status: "active", spentCreditMicros: 0, reservedCreditMicros: 0, lastUsedAt: null, createdAt: "" },
    ...own,
    effectiveSpendLimitCreditMicros: own.spendLimitCreditMicros,
    effectiveMaxConcurrentSessions: own.maxConcurrentSessions,
    effectiveExpiresAt: own.expiresAt,
    ...fields,
  } as ApiKey;
};

const fields: fc.Arbitrary<Fields> = fc.record({
  name: fc.constantFrom("a", "b"),
  scopes: fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 }),
  spendLimitCreditMicros: fc.option(fc.nat({ max: 4 })),
  maxConcurrentSessions: fc.option(fc.integer({ min: 1, max: 4 })),
  expiresAt: fc.option(fc.constantFrom("2030-01-01T00:00:00.000Z", "2031-01-01T00:00:00.000Z")),
});
const grantOf = ({ scopes, spendLimitCreditMicros, maxConcurrentSessions, expiresAt }: Fields) => ({
  environment: "live" as const,
  scopes,
  spendLimitCreditMicros,
  maxConcurrentSessions,
  expiresAt: expiresAt === null ? null : new Date(expiresAt),
});

test("a random change: wider and narrower as in the domain; the request has only the differences", () => {
  fc.assert(
    fc.property(fields, fields, (before, after) => {
      const differences = compareFields(before, after);
      const has = (direction: string) => differences.some((difference) => difference.direction === direction);
      expect(has("wider")).toBe(isWider(grantOf(before), grantOf(after)));
      expect(has("narrower")).toBe(isWider(grantOf(after), grantOf(before)));
      expect(compareFields({ ...before, ...updateRequest(after, differences) }, after)).toEqual([]);
      expect(compareFields(before, before)).toEqual([]);
    }),
  );
});

test("a change, in words: each difference with its direction", () => {
  const before = key({ name: "Shop", scopes: ["avatars:read", "usage:read"], spendLimitCreditMicros: 5_000_000 });
  const after = { ...before, name: "Store", scopes: ["*" as const], spendLimitCreditMicros: null };
  expect(compareFields(before, after).map(({ text, direction }) => [direction, text])).toEqual([
    [null, "Name: Shop → Store"],
    ["wider", "May also do: everything except usage:write"],
    ["wider", "Spend cap: 5 credits → no cap"],
  ]);
  expect(compareFields(after, before).map(({ text }) => text)).toEqual([
    "Name: Store → Shop",
    "May only do: avatars:read, usage:read",
    "Spend cap: no cap → 5 credits",
  ]);
});

const UNTIL = "2030-01-01T00:00:00.000Z";

test("an equal limit in another form, or spaces around a name: no change", () => {
  const before = key({ name: " Shop ", maxConcurrentSessions: 2, expiresAt: UNTIL });
  const texts = (from: Fields, to: Fields) => compareFields(from, to).map(({ text, direction }) => [direction, text]);
  const [wider, narrower] = [
    texts(before, { ...before, name: "Shop", ...NO_LIMITS }),
    texts(key({ name: " Shop " }), { ...before, name: "Shop" }),
  ];
  expect(wider[0]).toEqual(["wider", "Calls at once: 2 → no limit"]);
  expect(wider[1]).toEqual(["wider", expect.stringMatching(/^Expires: .*20(29|30).* → never$/)]);
  expect(narrower[0]).toEqual(["narrower", "Calls at once: no limit → 2"]);
  expect(narrower[1]).toEqual(["narrower", expect.stringMatching(/^Expires: never → .*20(29|30)/)]);
  expect([wider.length, narrower.length]).toEqual([2, 2]);
});

test("the keys below a changed key: a text in the singular and the plural", () => {
  expect(descendantsText(1)).toBe(
    "1 active key below it keeps its own scopes and limits. The limits of this key bind it as well; its scopes do not.",
  );
  expect(descendantsText(2)).toBe(
    "2 active keys below it keep their own scopes and limits. The limits of this key bind them as well; its scopes do not.",
  );
});

test.each([
  ["a root key: no inherited limits", key({}), undefined, { spendLimitCreditMicros: null, ...NO_LIMITS }],
  [
    "a child: the parent's limits in effect",
    key({ spendLimitCreditMicros: 5 }),
    key({ effectiveSpendLimitCreditMicros: 7, effectiveMaxConcurrentSessions: 2, effectiveExpiresAt: UNTIL }),
    { spendLimitCreditMicros: 7, maxConcurrentSessions: 2, expiresAt: UNTIL },
  ],
  [
    "a child in the other environment: the cap and the limit do not count",
    key({ environment: "test" }),
    key({ spendLimitCreditMicros: 5, maxConcurrentSessions: 2, expiresAt: UNTIL }),
    { spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt: UNTIL },
  ],
  [
    "an unknown parent: the limits in effect that are not the key's own",
    key({ effectiveSpendLimitCreditMicros: 5, expiresAt: UNTIL }),
    undefined,
    { spendLimitCreditMicros: 5, ...NO_LIMITS },
  ],
] as const)("a key's inherited limits, by its lineage: %s", (_, child, parent, limits) => {
  expect(inheritedLimits(child, parent)).toEqual({ ...limits });
});

test("a limit in effect: shown only if it is not the key's own", () => {
  const inherited = { spendLimitCreditMicros: 5_000_000, maxConcurrentSessions: 5, expiresAt: UNTIL };
  const effects = (own: Partial<Fields>) => Object.values(effectText(key(own), inherited)).map((text) => text !== null);
  expect(effects({})).toEqual([true, true, true]);
  expect(effects(inherited)).toEqual([false, false, false]);
  expect(effects({ ...inherited, spendLimitCreditMicros: 6_000_000 })).toEqual([true, false, false]);
  expect(effects({ ...inherited, maxConcurrentSessions: 6 })).toEqual([false, true, false]);
  expect(effectText(key({}), inherited).cap).toBe("In effect: 5 credits, the cap of a key above it.");
});
