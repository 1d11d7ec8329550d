/** Test helpers: keys, requests, and generators of them. */

import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import fc from "fast-check";
import { ENVIRONMENTS } from "../environment.ts";
import { type ApiKeyId, newId } from "../id.ts";
import { Problem } from "../problem.ts";
import type { ApiKeyRecord } from "./api-key.ts";
import { issueApiKey } from "./create.ts";
import { type Grant, type Grantor, MAX_LINEAGE, OPERATOR } from "./grant.ts";
import type { CreateApiKey } from "./schemas.ts";
import { permits, SCOPES } from "./scope.ts";

export const random = seededBytes("api-key");
export const now = new Date("2026-11-20T12:00:00.000Z");
export const tenantId = newId("ten", now, random);
export const issue = (request: CreateApiKey, creator: Grantor, checkedAt = now) =>
  issueApiKey(request, creator, { tenantId, checkedAt, now, random });

export const catchProblem = (work: () => unknown): Problem => {
  try {
    work();
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  throw new Error("no problem was thrown");
};

export const lineages = Array.from({ length: MAX_LINEAGE + 1 }, (_, length) =>
  Array.from({ length }, () => newId("key", now, random)),
);
const scopes = fc.uniqueArray(fc.constantFrom(...SCOPES), { minLength: 1 });
export const cap = fc.option(fc.oneof(fc.nat({ max: 5 }), fc.maxSafeNat()));
export const sessionLimit = fc.option(
  fc.oneof(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 2 ** 31 - 1 })),
);
export const expiry = fc.option(
  fc.date({ min: new Date("2027-01-01"), max: new Date("2027-01-03"), noInvalidDate: true }),
);

export const caller: fc.Arbitrary<Grantor> = fc.record({
  id: fc.constant<ApiKeyId>(newId("key", now, random)),
  environment: fc.constantFrom(...ENVIRONMENTS),
  scopes,
  spendLimitCreditMicros: cap,
  maxConcurrentSessions: sessionLimit,
  expiresAt: expiry,
  lineage: fc.constantFrom(...lineages),
  inheritedLimits: fc.record({ spendLimitCreditMicros: cap, maxConcurrentSessions: sessionLimit, expiresAt: expiry }),
});

export const request: fc.Arbitrary<CreateApiKey> = fc.record(
  {
    name: fc.constant("child"),
    environment: fc.constantFrom(...ENVIRONMENTS),
    scopes: fc.array(fc.constantFrom(...SCOPES), { minLength: 1, maxLength: 16 }),
    spendLimitCreditMicros: cap,
    maxConcurrentSessions: sessionLimit,
    expiresAt: expiry.map((date) => date?.toISOString() ?? null),
  },
  { requiredKeys: ["name"] },
);

export const NO_LIMITS = { spendLimitCreditMicros: null, maxConcurrentSessions: null, expiresAt: null };

/** The limits of `requested`; omitted ones are those of `other`. */
export const testLimits = ({ expiresAt, ...requested }: Partial<CreateApiKey>, other: Grant) => ({
  spendLimitCreditMicros: requested.spendLimitCreditMicros ?? null,
  maxConcurrentSessions: requested.maxConcurrentSessions ?? null,
  expiresAt: expiresAt == null ? null : new Date(expiresAt),
  ...(requested.spendLimitCreditMicros === undefined && { spendLimitCreditMicros: other.spendLimitCreditMicros }),
  ...(requested.maxConcurrentSessions === undefined && { maxConcurrentSessions: other.maxConcurrentSessions }),
  ...(expiresAt === undefined && { expiresAt: other.expiresAt }),
});

export const time = (date: Date | null): number => date?.getTime() ?? Number.POSITIVE_INFINITY;
export const limit = (micros: number | null): number => micros ?? Number.POSITIVE_INFINITY;

/** Whether `from` could create a key with `grant`. */
export const covers = (from: Grant, grant: Grant): boolean =>
  SCOPES.every((scope) => !permits(grant.scopes, scope) || permits(from.scopes, scope)) &&
  (from.environment === "live" || grant.environment === "test") &&
  time(grant.expiresAt) <= time(from.expiresAt) &&
  limit(grant.spendLimitCreditMicros) <= limit(from.spendLimitCreditMicros) &&
  limit(grant.maxConcurrentSessions) <= limit(from.maxConcurrentSessions);

export const record = (fields: Partial<ApiKeyRecord> = {}): ApiKeyRecord => ({
  ...issue({ name: "a key", environment: "live", scopes: ["*"] }, OPERATOR).record,
  ...fields,
});
export const always = () => true;
export const never = () => false;
