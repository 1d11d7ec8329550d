/** Limits the tests of webhook endpoints in progress: each is a request that waits for up to 20 seconds. */
import type { TenantId } from "@realtime-avatar/domain/id";
import { Problem } from "@realtime-avatar/domain/problem";
import { createPlaces } from "../http/limits/places.ts";

export const TESTS_PER_TENANT = 4;
const TESTS_PER_PROCESS = 64;
const RETRY = { retryable: true, retryAfterSeconds: 5 };

export type TestSlots = {
  /**
   * Runs a test. Throws `rate_limited` when the tenant has too many tests in progress, and `unavailable` when the
   * process has too many.
   */
  run<Result>(tenantId: TenantId, test: () => Promise<Result>): Promise<Result>;
};

/** Each process counts for itself. When half of the places are taken, a tenant gets one place. */
export const createTestSlots = (perTenant = TESTS_PER_TENANT, perProcess = TESTS_PER_PROCESS): TestSlots => {
  const places = createPlaces(perProcess);
  return {
    run: async (tenantId, test) => {
      const taken = places.take([{ name: tenantId, share: perTenant }]);
      if (taken.kind === "used_up") {
        const detail = `A tenant can have ${perTenant} tests in progress, and only one while the server has many.`;
        throw new Problem("rate_limited", detail, RETRY);
      }
      if (taken.kind === "full") throw new Problem("unavailable", "Too many tests are in progress.", RETRY);
      try {
        return await test();
      } finally {
        taken.place.free();
      }
    },
  };
};
