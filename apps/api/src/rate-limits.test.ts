import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import { temporaryFolder } from "@realtime-avatar/db/testing";
import { createLog } from "@realtime-avatar/runtime/log";
import { type RunningProcess, startProcess } from "@realtime-avatar/runtime/testing";
import { readConfig } from "./config.ts";
import { createLimiter, createRequestLimit } from "./rate-limits.ts";
import { createRedisStore } from "./redis.ts";
import { type Answer, createTestApp, readAnswer, requestInit, startApi, type TestApi } from "./testing.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

/** The application with a limit, and a way to ask it. */
const limited = (perSecond: number, burst: number) => {
  const config = {
    defaultAvatarModelId: "x",
    maxActiveKeysPerTenant: 10_000,
    trustedProxyHops: 0,
    rateLimit: { perSecond, burst },
  };
  const app = createTestApp(api.database.db, { config });
  return async (method: string, path: string, options: Parameters<typeof requestInit>[1]): Promise<Answer> =>
    readAnswer(await app.handle(new Request(`http://api${path}`, requestInit(method, options))));
};
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

describe("requests of a key", () => {
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

describe("the configuration", () => {
  test("takes a rate, a rate with a burst, and a server", () => {
    expect(readConfig({}).rateLimit).toBeNull();
    expect(readConfig({ RATE_LIMIT_RPS: "5" }).rateLimit).toEqual({ perSecond: 5, burst: 0 });
    expect(readConfig({ RATE_LIMIT_RPS: "5", RATE_LIMIT_BURST: "20" }).rateLimit).toEqual({ perSecond: 5, burst: 20 });
    for (const url of ["redis://h", "rediss://u:p@h:6380/2", "valkey://h"]) {
      expect(readConfig({ REDIS_URL: url }).redisUrl).toBe(url);
    }
  });

  test.each([
    ["RATE_LIMIT_RPS", { RATE_LIMIT_RPS: "0" }],
    ["RATE_LIMIT_RPS", { RATE_LIMIT_RPS: "1.5" }],
    ["RATE_LIMIT_RPS", { RATE_LIMIT_BURST: "5" }],
    ["RATE_LIMIT_BURST", { RATE_LIMIT_RPS: "5", RATE_LIMIT_BURST: "-1" }],
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
    const limit = createRequestLimit({ perSecond: 1, burst: 0 }, one.store);
    await one.until(/REDIS_URL cannot be reached/);
    await limit("key", {});
    await expect(
      (async () => {
        for (let count = 0; count < 50; count++) await limit("key", {});
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
