/** Helpers for tests of rate limits. */
import { expect } from "bun:test";
import type { Problem } from "@realtime-avatar/domain/problem";
import type { RequestLimit } from "../../src/http/limits/rate-limit.ts";

/**
 * Runs `work` with the result of `prepare`, again until it takes less than a second, so that no window ends meanwhile.
 * Errors of slower runs are ignored.
 */
export const withinASecond = async <Prepared, Result>(
  prepare: () => Promise<Prepared>,
  work: (prepared: Prepared) => Promise<Result>,
): Promise<Result> => {
  for (;;) {
    const prepared = await prepare();
    const startedAt = performance.now();
    const working = work(prepared);
    await working.catch(() => {});
    if (performance.now() - startedAt < 1000) return working;
  }
};

/** A caller for `createRequestLimit`. `name`: the name of its tenant and of its key. */
export const caller = (name: string) => {
  const [tenantId, id] = name.split(" ");
  return { tenantId, id, lineage: [] } as never;
};

/** Counts a request of `name`. Returns its headers, and the text of its refusal. */
export const count = async (limit: RequestLimit | null, name: string) => {
  const headers: Record<string, string> = {};
  const refusal = await limit?.(caller(name), headers).then(
    () => null,
    (problem: Problem) => problem.detail,
  );
  return { isAllowed: refusal === null, headers, refusal };
};

export const OF_KEY =
  "An API key and its descendants together can make 1 requests in each second, and 5 more in each 10.";
export const OF_TENANT = "The API keys of a tenant together can make 3 requests in each second.";

/** Shows that a request that one limit refuses does not use the other limit. `tenant`: a new one each time. */
export const expectOtherLimitUnused = async (limit: RequestLimit | null, tenant: string): Promise<void> => {
  const key = (name: string) => count(limit, `${tenant} ${name}`);
  // The tenant's three requests go to the first key: one by its rate, two by its burst.
  for (let used = 0; used < 3; used++) expect((await key("a")).isAllowed).toBe(true);
  for (let refused = 0; refused < 10; refused++) {
    expect((await key("a")).refusal).toBe(OF_TENANT);
    // The rate of the other key is unused. Otherwise its second request would use its burst.
    const { refusal, headers } = await key("b");
    expect(refusal).toBe(OF_TENANT);
    expect(headers["ratelimit"]).toBe('"rate";r=0;t=1, "tenant-rate";r=0;t=1');
  }
};
