import { describe, expect, test } from "bun:test";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, callAnew, startApi, TEST_CONFIG } from "../../../test/support/api.ts";
import { count, expectOtherLimitUnused, OF_KEY, withinASecond } from "../../../test/support/rate-limit.ts";
import { readConfig } from "../../config.ts";
import { createLimiter, createNetworkLimit, createRequestLimit, type RateLimit } from "./rate-limit.ts";

const api = await startApi();

/** Calls the application with limits. */
const limitedApp = (rateLimit: RateLimit | null, tenantRateLimit: RateLimit | null = null) =>
  callAnew(api.database.db, { config: { ...TEST_CONFIG, rateLimit, tenantRateLimit } });
const limited = (perSecond: number, burst: number) => limitedApp({ perSecond, burst });
const self = "/api/v1/api-keys/self";
const fields = ({ headers }: Answer) =>
  ["ratelimit-policy", "ratelimit", "retry-after"].map((name) => headers.get(name));

describe("a limit", () => {
  test("a limiter, 3 requests against a limit of 2: the third is refused; each id has its own count", async () => {
    const limit = createLimiter("test", 2, 60);
    expect([await limit("a"), await limit("a"), await limit("a")]).toMatchObject([
      { isAllowed: true, remaining: 1 },
      { isAllowed: true, remaining: 0 },
      { isAllowed: false, remaining: 0 },
    ]);
    const { isAllowed, resetMs } = await limit("b");
    expect(isAllowed).toBe(true);
    expect(resetMs).toBeGreaterThan(0);
    expect(resetMs).toBeLessThanOrEqual(60_000);
  });

  test("a limiter, 1000 ids and room for 4 counters: ids share counters", async () => {
    const limit = createLimiter("test", 1, 60, null, 4);
    const counts = await Promise.all(Array.from({ length: 1000 }, (_, id) => limit(`id ${id}`)));
    expect(counts.filter(({ isAllowed }) => isAllowed).length).toBeWithin(1, 5);
    const other = createLimiter("test", 1, 60, null, 1_000_000);
    expect([await other("a"), await other("b"), await other("a")].map(({ isAllowed }) => isAllowed)).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("a network limiter, many networks without credentials: bounded counters", async () => {
    let from = 0;
    const dependencies = { config: { trustedProxyHops: 1 }, peerAddress: () => null, redis: null };
    const check = createNetworkLimit("test", 1, "make one request", dependencies);
    const isAllowed = async (): Promise<boolean> => {
      from++;
      const address = `10.${from >> 16}.${(from >> 8) & 255}.${from & 255}`;
      const request = new Request("http://api", { headers: { "x-forwarded-for": address } });
      return check(request).then(
        () => true,
        () => false,
      );
    };
    let allowed = 0;
    for (let sent = 0; sent < 40_000; sent++) if (await isAllowed()) allowed++;
    // Each counter has allowed one of 40,000 networks. With a counter for each network, all would have passed.
    expect(allowed).toBeWithin(10_000, 16_385);
  });

  test("a limiter after its window: requests pass again", async () => {
    const limit = createLimiter("test", 1, 1);
    await limit("a");
    const { isAllowed, resetMs } = await limit("a");
    expect(isAllowed).toBe(false);
    await Bun.sleep(resetMs + 1);
    expect((await limit("a")).isAllowed).toBe(true);
  });
});

const countOf = (responses: readonly Answer[], expected: number): number =>
  responses.filter(({ status }) => status === expected).length;

describe("requests of a key", () => {
  test("a key's requests, spread over all routes: counted together", async () => {
    const ask = limited(1, 0);
    const routes = api.app.routes.filter(({ hooks }) => hooks.detail?.scope !== undefined);
    const families = new Set(routes.map(({ path }) => path.split("/")[3]));
    expect([...families]).toEqual(expect.arrayContaining(["api-keys", "avatars", "audit-events"]));
    const responses = await withinASecond(
      () => api.key(),
      (key) => Promise.all(routes.map(({ method, path }) => ask(method, path.replace(":id", "none"), { key }))),
    );
    expect(countOf(responses, 429)).toBe(routes.length - 1);
  });

  test("a key's requests, with those of all its descendants: counted together", async () => {
    const unlimited = limitedApp(null);
    const ask = limited(1, 0);
    const newFamily = async (): Promise<string[]> => {
      const keys = [await api.key()];
      // Two children, a grandchild and its child.
      for (const parent of [0, 0, 1, 3]) {
        const body = { name: "child", environment: "live", scopes: ["*"] };
        keys.push((await unlimited("POST", "/api/v1/api-keys", { key: keys[parent] ?? "", body })).body.apiKey);
      }
      return keys;
    };
    // The youngest key sends the first request. It must not get its own budget.
    const askAll = (keys: string[]) => Promise.all(keys.toReversed().map((key) => ask("GET", self, { key })));
    const responses = await withinASecond(
      () => Promise.all([newFamily(), newFamily()]),
      (families) => Promise.all(families.map(askAll)),
    );
    expect(responses.map((all) => [countOf(all, 200), countOf(all, 429)])).toEqual([
      [1, 4],
      [1, 4],
    ]);
  });

  test("a key's requests, above the rate: taken from the burst, then 429", async () => {
    // The rate is used up for the whole test. Otherwise the next second would allow another request.
    const ask = limited(1, 3);
    const policy = '"rate";q=1;w=1, "burst";q=3;w=10';
    const askTimes = async (key: string, times: number): Promise<Answer[]> => {
      const answers: Answer[] = [];
      for (let count = 0; count < times; count++) answers.push(await ask("GET", self, { key }));
      return answers;
    };
    // The burst allows five requests, and the rate one. The rate allows the next one later.
    const { key, first } = await withinASecond(
      () => api.key({ scopes: ["avatars:read"] }),
      async (key) => ({ key, first: await askTimes(key, 4) }),
    );
    const responses = [...first, ...(await askTimes(key, 26))];
    const refused = responses.filter(({ status }) => status === 429);
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4);
    expect(refused.length).toBeGreaterThan(0);
    expect(fields(responses[0] as Answer)).toEqual([policy, '"rate";r=0;t=1', null]);
    for (const response of refused) {
      expect(response.body).toMatchObject({ code: "rate_limited", retryable: true, status: 429 });
      expect(fields(response)).toEqual([policy, '"rate";r=0;t=1, "burst";r=0', "1"]);
    }
    const fromBurst = responses.filter(
      ({ status, headers }) => status === 200 && /burst/.test(headers.get("ratelimit") ?? ""),
    );
    expect(fromBurst.map(({ headers }) => headers.get("ratelimit"))).toEqual([
      '"rate";r=0;t=1, "burst";r=2;t=10',
      '"rate";r=0;t=1, "burst";r=1;t=10',
      '"rate";r=0;t=1, "burst";r=0;t=10',
    ]);
  });

  test("a key's requests, after a rotation: counted with the requests before the rotation; another key is counted separately", async () => {
    const ask = limited(1, 0);
    const root = await api.key();
    const created = (
      await limited(1000, 0)("POST", "/api/v1/api-keys", { key: root, body: { name: "x", scopes: ["*"] } })
    ).body;
    const used = async (key: string): Promise<number> => {
      for (let count = 0; count < 50; count++) {
        const { status } = await ask("GET", self, { key });
        if (status !== 200) return status;
      }
      return 200;
    };
    expect(await used(created.apiKey)).toBe(429);
    const rotate = { key: root, body: {} };
    const { body } = await limited(1000, 0)("POST", `/api/v1/api-keys/${created.id}/rotate`, rotate);
    expect(await used(body.apiKey)).toBe(429);
    expect((await ask("GET", self, { key: await api.key() })).status).toBe(200);
  });

  test("a request, above the key's limit and without the scope: counted after authentication, before the scope", async () => {
    const ask = limited(1, 0);
    const key = await api.key({ scopes: ["usage:read"] });
    let response = await ask("POST", "/api/v1/avatars", { key, body: "{" });
    expect(response.body.code).toBe("insufficient_scope");
    expect(fields(response).slice(0, 2)).toEqual(['"rate";q=1;w=1', '"rate";r=0;t=1']);
    for (let count = 0; count < 50 && response.status !== 429; count++) {
      response = await ask("POST", "/api/v1/avatars", { key, body: "{" });
    }
    expect(response.body.code).toBe("rate_limited");
    const anonymous = await ask("GET", self, {});
    expect([anonymous.status, ...fields(anonymous)]).toEqual([401, null, null, null]);
  });
});

describe("requests of a tenant", () => {
  test("a tenant's requests, made with many keys: counted together, separately from other tenants", async () => {
    const ask = limitedApp(null, { perSecond: 2, burst: 1 });
    const responses = await withinASecond(
      async () => {
        const tenantId = await seedTenant(api.database.db);
        const newKey = async () => (await seedKey(api.database.db, tenantId, { scopes: ["*"] })).secret.reveal();
        return [await newKey(), await newKey(), await newKey(), await newKey()];
      },
      async (keys) => {
        const responses: Answer[] = [];
        for (const key of keys) responses.push(await ask("GET", self, { key }));
        responses.push(await ask("GET", self, { key: await api.key() }));
        return responses;
      },
    );
    const policy = '"tenant-rate";q=2;w=1, "tenant-burst";q=1;w=10';
    expect(responses.map(({ status, headers }) => [status, headers.get("ratelimit")])).toEqual([
      [200, '"tenant-rate";r=1;t=1'],
      [200, '"tenant-rate";r=0;t=1'],
      [200, '"tenant-rate";r=0;t=1, "tenant-burst";r=0;t=10'],
      [429, '"tenant-rate";r=0;t=1, "tenant-burst";r=0'],
      [200, '"tenant-rate";r=1;t=1'],
    ]);
    expect(new Set(responses.map(({ headers }) => headers.get("ratelimit-policy")))).toEqual(new Set([policy]));
    expect(responses[3]?.body).toMatchObject({
      code: "rate_limited",
      detail: "The API keys of a tenant together can make 2 requests in each second, and 1 more in each 10.",
    });
  });

  test("a request, refused by the key's limit: not counted for the tenant", async () => {
    const limits = { key: { perSecond: 1, burst: 5 }, tenant: { perSecond: 1000, burst: 0 } };
    const limit = createRequestLimit(limits, null);
    const last = await withinASecond(
      async () => `ten_${crypto.randomUUID()}`,
      async (tenant) => {
        for (let used = 0; used < 6; used++) expect((await count(limit, `${tenant} a`)).isAllowed).toBe(true);
        for (let refused = 0; refused < 50; refused++) {
          const { refusal, headers } = await count(limit, `${tenant} a`);
          expect(refusal).toBe(OF_KEY);
          expect(headers).toEqual({
            "ratelimit-policy": '"rate";q=1;w=1, "burst";q=5;w=10, "tenant-rate";q=1000;w=1',
            ratelimit: '"rate";r=0;t=1, "burst";r=0',
          });
        }
        return count(limit, `${tenant} b`);
      },
    );
    expect(last.headers["ratelimit"]).toBe('"rate";r=0;t=1, "tenant-rate";r=993;t=1');
  });

  test("a request, refused by the tenant's limit: not counted for the key", async () => {
    const limits = { key: { perSecond: 1, burst: 5 }, tenant: { perSecond: 3, burst: 0 } };
    const limit = createRequestLimit(limits, null);
    await withinASecond(
      async () => `ten_${crypto.randomUUID()}`,
      (tenant) => expectOtherLimitUnused(limit, tenant),
    );
  });
});

describe("the configuration of the limits", () => {
  test("the configuration, with a rate, a burst and a server: read", () => {
    expect(readConfig({}).rateLimit).toBeNull();
    expect(readConfig({ RATE_LIMIT_RPS: "5" }).rateLimit).toEqual({ perSecond: 5, burst: 0 });
    expect(readConfig({ RATE_LIMIT_RPS: "5", RATE_LIMIT_BURST: "20" }).rateLimit).toEqual({ perSecond: 5, burst: 20 });
    expect(readConfig({ RATE_LIMIT_RPS: "5" }).tenantRateLimit).toBeNull();
    expect(readConfig({ RATE_LIMIT_TENANT_RPS: "50", RATE_LIMIT_TENANT_BURST: "70" })).toMatchObject({
      rateLimit: null,
      tenantRateLimit: { perSecond: 50, burst: 70 },
    });
    for (const url of ["redis://h", "rediss://u:p@h:6380/2", "valkey://h"]) {
      expect(readConfig({ REDIS_URL: url }).redisUrl).toBe(url);
    }
  });

  test.each([
    ["RATE_LIMIT_RPS", { RATE_LIMIT_RPS: "0" }],
    ["RATE_LIMIT_RPS", { RATE_LIMIT_RPS: "1.5" }],
    ["RATE_LIMIT_RPS", { RATE_LIMIT_BURST: "5" }],
    ["RATE_LIMIT_BURST", { RATE_LIMIT_RPS: "5", RATE_LIMIT_BURST: "-1" }],
    ["RATE_LIMIT_TENANT_RPS", { RATE_LIMIT_TENANT_RPS: "0" }],
    ["RATE_LIMIT_TENANT_RPS", { RATE_LIMIT_RPS: "5", RATE_LIMIT_TENANT_BURST: "5" }],
    ["RATE_LIMIT_TENANT_BURST", { RATE_LIMIT_TENANT_RPS: "5", RATE_LIMIT_TENANT_BURST: "x" }],
    ["REDIS_URL", { REDIS_URL: "http://h" }],
    ["REDIS_URL", { REDIS_URL: "redis://h:99999" }],
  ])(
    "the configuration, with an invalid %s in %j: the error names the variable without the value",
    (name, variables) => {
      expect(() => readConfig(variables)).toThrow(new RegExp(`^${name} must be (?!.*99999)`));
    },
  );
});
