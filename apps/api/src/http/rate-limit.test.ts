import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { seedKey, seedTenant, temporaryFolder } from "@realtime-avatar/db/testing";
import type { Problem } from "@realtime-avatar/domain/problem";
import { createLog } from "@realtime-avatar/runtime/log";
import { type RunningProcess, startProcess } from "@realtime-avatar/runtime/testing";
import {
  type Answer,
  createTestApp,
  readAnswer,
  requestInit,
  startApi,
  TEST_CONFIG,
  type TestApi,
} from "../../test/support/api.ts";
import { readConfig } from "../config.ts";
import { createLimiter, createRequestLimit, type RateLimit, type RequestLimit } from "./rate-limit.ts";
import { createRedisStore } from "./redis.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** The application with limits. */
const limitedApp = (rateLimit: RateLimit | null, tenantRateLimit: RateLimit | null = null) =>
  createTestApp(api.database.db, {
    config: { ...TEST_CONFIG, rateLimit, tenantRateLimit },
  });
/** A way to ask an application. */
const asking =
  (app: ReturnType<typeof limitedApp>) =>
  async (method: string, path: string, options: Parameters<typeof requestInit>[1]): Promise<Answer> =>
    readAnswer(await app.handle(new Request(`http://api${path}`, requestInit(method, options))));
const limited = (perSecond: number, burst: number) => asking(limitedApp({ perSecond, burst }));
const self = "/api/v1/api-keys/self";
const fields = ({ headers }: Answer) =>
  ["ratelimit-policy", "ratelimit", "retry-after"].map((name) => headers.get(name));

describe("a limit", () => {
  test("lets so many by in its window, by id, and tells what is left and for how long", async () => {
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

  test("ends with its window", async () => {
    const limit = createLimiter("test", 1, 1);
    await limit("a");
    const { isAllowed, resetMs } = await limit("a");
    expect(isAllowed).toBe(false);
    await Bun.sleep(resetMs + 1);
    expect((await limit("a")).isAllowed).toBe(true);
  });
});

/**
 * Does `work` with what `prepare` makes, anew until it has taken less than a second: no window has ended meanwhile. What
 * a slower one throws says nothing.
 */
const withinASecond = async <Given, Result>(
  prepare: () => Promise<Given>,
  work: (given: Given) => Promise<Result>,
): Promise<Result> => {
  for (;;) {
    const given = await prepare();
    const startedAt = performance.now();
    const working = work(given);
    await working.catch(() => {});
    if (performance.now() - startedAt < 1000) return working;
  }
};
const countOf = (answers: readonly Answer[], wanted: number): number =>
  answers.filter(({ status }) => status === wanted).length;

describe("requests of a key", () => {
  test("are counted together over all routes", async () => {
    const app = limitedApp({ perSecond: 1, burst: 0 });
    const ask = asking(app);
    const routes = app.routes.filter(({ hooks }) => hooks.detail?.scope !== undefined);
    const families = new Set(routes.map(({ path }) => path.split("/")[3]));
    expect([...families]).toEqual(expect.arrayContaining(["api-keys", "avatars", "audit-events"]));
    const answers = await withinASecond(
      () => api.key(),
      (key) => Promise.all(routes.map(({ method, path }) => ask(method, path.replace(":id", "none"), { key }))),
    );
    expect(countOf(answers, 429)).toBe(routes.length - 1);
  });

  test("and of all its descendants are counted together", async () => {
    const unlimited = asking(limitedApp(null));
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
    // The youngest asks first: it must not begin a budget of its own.
    const askAll = (keys: string[]) => Promise.all(keys.toReversed().map((key) => ask("GET", self, { key })));
    const answers = await withinASecond(
      () => Promise.all([newFamily(), newFamily()]),
      (families) => Promise.all(families.map(askAll)),
    );
    expect(answers.map((all) => [countOf(all, 200), countOf(all, 429)])).toEqual([
      [1, 4],
      [1, 4],
    ]);
  });

  test("beyond the rate are taken from the burst, and then refused, whatever they ask for", async () => {
    // A rate that is used up for as long as the test lasts: the tenth of a second would let one more in.
    const ask = limited(1, 3);
    const key = await api.key({ scopes: ["avatars:read"] });
    const policy = '"rate";q=1;w=1, "burst";q=3;w=10';
    const answers: Answer[] = [];
    for (let count = 0; count < 30; count++) answers.push(await ask("GET", self, { key }));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4);
    expect(refused.length).toBeGreaterThan(0);
    expect(fields(answers[0] as Answer)).toEqual([policy, '"rate";r=0;t=1', null]);
    for (const answer of refused) {
      expect(answer.body).toMatchObject({ code: "rate_limited", retryable: true, status: 429 });
      expect(fields(answer)).toEqual([policy, '"rate";r=0;t=1, "burst";r=0', "1"]);
    }
    const fromBurst = answers.filter(
      ({ status, headers }) => status === 200 && /burst/.test(headers.get("ratelimit") ?? ""),
    );
    expect(fromBurst.map(({ headers }) => headers.get("ratelimit"))).toEqual([
      '"rate";r=0;t=1, "burst";r=2;t=10',
      '"rate";r=0;t=1, "burst";r=1;t=10',
      '"rate";r=0;t=1, "burst";r=0;t=10',
    ]);
  });

  test("are counted by its record: a rotation gains nothing, and another key has its own", async () => {
    const ask = limited(1, 0);
    const root = await api.key();
    const made = (await limited(1000, 0)("POST", "/api/v1/api-keys", { key: root, body: { name: "x", scopes: ["*"] } }))
      .body;
    const used = async (key: string): Promise<number> => {
      for (let count = 0; count < 50; count++) {
        const { status } = await ask("GET", self, { key });
        if (status !== 200) return status;
      }
      return 200;
    };
    expect(await used(made.apiKey)).toBe(429);
    const rotate = { key: root, body: {} };
    const { body } = await limited(1000, 0)("POST", `/api/v1/api-keys/${made.id}/rotate`, rotate);
    expect(await used(body.apiKey)).toBe(429);
    expect((await ask("GET", self, { key: await api.key() })).status).toBe(200);
  });

  test("are counted after the credentials and before the scope, the body and the work", async () => {
    const ask = limited(1, 0);
    const key = await api.key({ scopes: ["usage:read"] });
    let answer = await ask("POST", "/api/v1/avatars", { key, body: "{" });
    expect(answer.body.code).toBe("insufficient_scope");
    expect(fields(answer).slice(0, 2)).toEqual(['"rate";q=1;w=1', '"rate";r=0;t=1']);
    for (let count = 0; count < 50 && answer.status !== 429; count++) {
      answer = await ask("POST", "/api/v1/avatars", { key, body: "{" });
    }
    expect(answer.body.code).toBe("rate_limited");
    const stranger = await ask("GET", self, {});
    expect([stranger.status, ...fields(stranger)]).toEqual([401, null, null, null]);
  });

  test("are not limited unless it is configured", async () => {
    const { status, headers } = await api.call("GET", self, { key: await api.key() });
    expect([status, headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([200, null, null]);
  });
});

/** A caller for `createRequestLimit`: `name` is its tenant and its key. */
const caller = (name: string) => {
  const [tenantId, id] = name.split(" ");
  return { tenantId, id, lineage: [] } as never;
};

/** Counts one of `name`; its headers, and the words of its refusal. */
const count = async (limit: RequestLimit | null, name: string) => {
  const headers: Record<string, string> = {};
  const refusal = await limit?.(caller(name), headers).then(
    () => null,
    (problem: Problem) => problem.detail,
  );
  return { isAllowed: refusal === null, headers, refusal };
};

const OF_KEY = "An API key and its descendants together can make 1 requests in each second, and 5 more in each 10.";
const OF_TENANT = "The API keys of a tenant together can make 3 requests in each second.";

/** Shows that what one limit refuses uses nothing of the other; `tenant` is a new one each time. */
const sparesTheOther = async (limit: RequestLimit | null, tenant: string): Promise<void> => {
  const key = (name: string) => count(limit, `${tenant} ${name}`);
  // The tenant's three go to the first key: one by its rate, two by its burst.
  for (let used = 0; used < 3; used++) expect((await key("a")).isAllowed).toBe(true);
  for (let refused = 0; refused < 10; refused++) {
    expect((await key("a")).refusal).toBe(OF_TENANT);
    // Of the other key's rate nothing is used, or its second request would be told of its burst.
    const { refusal, headers } = await key("b");
    expect(refusal).toBe(OF_TENANT);
    expect(headers["ratelimit"]).toBe('"rate";r=0;t=1, "tenant-rate";r=0;t=1');
  }
};

describe("requests of a tenant", () => {
  test("are counted over all its keys, and those of another tenant are not", async () => {
    const ask = asking(limitedApp(null, { perSecond: 2, burst: 1 }));
    const answers = await withinASecond(
      async () => {
        const tenantId = await seedTenant(api.database.db);
        const newKey = async () => (await seedKey(api.database.db, tenantId, { scopes: ["*"] })).secret.reveal();
        return [await newKey(), await newKey(), await newKey(), await newKey()];
      },
      async (keys) => {
        const answers: Answer[] = [];
        for (const key of keys) answers.push(await ask("GET", self, { key }));
        answers.push(await ask("GET", self, { key: await api.key() }));
        return answers;
      },
    );
    const policy = '"tenant-rate";q=2;w=1, "tenant-burst";q=1;w=10';
    expect(answers.map(({ status, headers }) => [status, headers.get("ratelimit")])).toEqual([
      [200, '"tenant-rate";r=1;t=1'],
      [200, '"tenant-rate";r=0;t=1'],
      [200, '"tenant-rate";r=0;t=1, "tenant-burst";r=0;t=10'],
      [429, '"tenant-rate";r=0;t=1, "tenant-burst";r=0'],
      [200, '"tenant-rate";r=1;t=1'],
    ]);
    expect(new Set(answers.map(({ headers }) => headers.get("ratelimit-policy")))).toEqual(new Set([policy]));
    expect(answers[3]?.body).toMatchObject({
      code: "rate_limited",
      detail: "The API keys of a tenant together can make 2 requests in each second, and 1 more in each 10.",
    });
  });

  test("that a key's limit refuses use nothing of the tenant's", async () => {
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

  test("that its limit refuses use nothing of the key's", async () => {
    const limits = { key: { perSecond: 1, burst: 5 }, tenant: { perSecond: 3, burst: 0 } };
    const limit = createRequestLimit(limits, null);
    await withinASecond(
      async () => `ten_${crypto.randomUUID()}`,
      (tenant) => sparesTheOther(limit, tenant),
    );
  });
});

describe("the configuration", () => {
  test("takes a rate, a rate with a burst, and a server", () => {
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
  ])("names %s when %j is wrong, and not its value", (name, variables) => {
    expect(() => readConfig(variables)).toThrow(new RegExp(`^${name} must be (?!.*99999)`));
  });
});

/** The server of Redis or Valkey, where this machine has one: npm has none. */
const REDIS = Bun.which("redis-server") ?? Bun.which("valkey-server");

describe.skipIf(REDIS === null)("with a server in which all replicas count together", () => {
  const freePort = (): Promise<number> =>
    new Promise((resolve) => {
      const server = createServer().listen(0, "127.0.0.1", () => {
        const { port } = server.address() as { port: number };
        server.close(() => resolve(port));
      });
    });
  const start = async (port: number): Promise<RunningProcess> => {
    const folder = await temporaryFolder();
    const running = startProcess([REDIS ?? "", "--port", String(port), "--save", "", "--dir", folder]);
    await running.waitFor(/Ready to accept connections/);
    running.exited.then(() => Bun.$`rm -rf ${folder}`.quiet());
    return running;
  };
  /** A replica's store, and what it has logged. */
  const replica = (port: number) => {
    const lines: string[] = [];
    const store = createRedisStore(
      `redis://127.0.0.1:${port}`,
      createLog("info", { write: (line) => void lines.push(line) }),
    );
    const until = async (wanted: RegExp): Promise<void> => {
      while (!wanted.test(lines.join(""))) await Bun.sleep(5);
    };
    const isReady = async (): Promise<void> => {
      while (store.status !== "ready") await Bun.sleep(5);
    };
    return { store, lines, until, isReady };
  };
  /** How many of `count` at once are let by. */
  const allowed = async (limit: ReturnType<typeof createLimiter>, count: number): Promise<number> =>
    (await Promise.all(Array.from({ length: count }, () => limit("key")))).filter(({ isAllowed }) => isAllowed).length;

  test("two replicas let by what one would", async () => {
    const port = await freePort();
    const server = await start(port);
    const replicas = [replica(port), replica(port)];
    await Promise.all(replicas.map(({ isReady }) => isReady()));
    const limits = replicas.map(({ store }) => createLimiter("together", 10, 600, store));
    const counts = await Promise.all(limits.map((limit) => allowed(limit, 20)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
    for (const { store, lines } of replicas) {
      store.close();
      expect(lines).toEqual([]);
    }
    server.kill("SIGTERM");
    await server.exited;
  });

  test("what a tenant's limit refuses uses nothing of the key's, and two replicas count one tenant", async () => {
    const port = await freePort();
    const server = await start(port);
    const replicas = [replica(port), replica(port)];
    await Promise.all(replicas.map(({ isReady }) => isReady()));
    const limits = { key: { perSecond: 1, burst: 5 }, tenant: { perSecond: 3, burst: 0 } };
    const [one, two] = replicas.map(({ store }) => createRequestLimit(limits, store));
    let turn = 0;
    const both: RequestLimit = async (caller, headers) => await (turn++ % 2 ? one : two)?.(caller, headers);
    await withinASecond(
      async () => `ten_${crypto.randomUUID()}`,
      (tenant) => sparesTheOther(both, tenant),
    );
    for (const { store } of replicas) store.close();
    server.kill("SIGTERM");
    await server.exited;
  });

  test.each([["SIGKILL"], ["SIGSTOP"]] as const)(
    "%s leaves each with a limit of its own, until it is back",
    async (signal) => {
      const port = await freePort();
      let server = await start(port);
      const one = replica(port);
      await one.isReady();
      const limit = createLimiter("alone", 10, 600, one.store);
      expect(await allowed(limit, 5)).toBe(5);
      server.kill(signal);
      if (signal === "SIGKILL") await server.exited;
      // It begins anew in memory, and ends there as well.
      expect(await allowed(limit, 30)).toBe(10);
      expect(await allowed(limit, 30)).toBe(0);
      await one.until(/REDIS_URL cannot be reached/);
      if (signal === "SIGSTOP") server.kill("SIGCONT");
      else server = await start(port);
      await one.until(/REDIS_URL is reached again/);
      const other = createLimiter("other", 3, 600, one.store);
      expect(await allowed(other, 10)).toBe(3);
      expect(one.lines.length).toBe(2);
      one.store.close();
      server.kill("SIGTERM");
      await server.exited;
    },
  );

  test("one that is not there at the start is found when it comes", async () => {
    const port = await freePort();
    const one = replica(port);
    const limit = createRequestLimit({ key: { perSecond: 1, burst: 0 }, tenant: null }, one.store);
    await one.until(/REDIS_URL cannot be reached/);
    await limit?.(caller("tenant key"), {});
    await expect(
      (async () => {
        for (let count = 0; count < 50; count++) await limit?.(caller("tenant key"), {});
      })(),
    ).rejects.toThrow("rate_limited");
    const server = await start(port);
    await one.until(/REDIS_URL is reached again/);
    one.store.close();
    server.kill("SIGTERM");
    await server.exited;
  });

  test("is used by the service, which ends all the same when it is frozen", async () => {
    const port = await freePort();
    const server = await start(port);
    const variables = {
      PORT: "0",
      DATABASE_URL: api.database.url,
      RATE_LIMIT_RPS: "1",
      REDIS_URL: `redis://127.0.0.1:${port}`,
    };
    const service = startProcess([process.execPath, "--no-env-file", join("apps/api/src/main.ts")], variables);
    const [, url = ""] = await service.waitFor(/"url":"(http:[^"]+)"/);
    const key = await api.key();
    const ask = async () => (await fetch(url + self, requestInit("GET", { key }))).status;
    expect(await ask()).toBe(200);
    const statuses: number[] = [];
    for (let count = 0; count < 30; count++) statuses.push(await ask());
    expect(statuses).toContain(429);
    server.kill("SIGSTOP");
    for (let count = 0; count < 30; count++) statuses.push(await ask());
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    service.kill("SIGTERM");
    expect(await service.exited).toBe(0);
    server.kill("SIGKILL");
    await server.exited;
  });
});
