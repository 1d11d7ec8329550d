import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createLog } from "@realtime-avatar/runtime/log";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { until } from "@realtime-avatar/testing/until";
import { requestInit, startApi } from "../../../test/support/api.ts";
import { caller, expectOtherLimitUnused, withinASecond } from "../../../test/support/rate-limit.ts";
import { createLimiter, createRequestLimit, type RequestLimit } from "./rate-limit.ts";
import { createRedisStore, type RedisStore } from "./redis.ts";

const api = await startApi(undefined, {}, { isServed: true });

const self = "/api/v1/api-keys/self";

/** The program of a Redis or Valkey server, if it is installed. No npm package contains one. */
const REDIS = Bun.which("redis-server") ?? Bun.which("valkey-server");

describe.skipIf(REDIS === null)("a Redis server shared by all replicas", () => {
  const start = async (port: number): Promise<RunningProcess> => {
    const folder = await temporaryFolder();
    const running = startProcess([REDIS ?? "", "--port", String(port), "--save", "", "--dir", folder]);
    await running.waitFor(/Ready to accept connections/);
    running.exited.then(() => Bun.$`rm -rf ${folder}`.quiet());
    return running;
  };
  /** The store of a replica, and its log. */
  const replica = (port: number) => {
    const lines: string[] = [];
    const store = createRedisStore(
      `redis://127.0.0.1:${port}`,
      createLog("info", { write: (line) => void lines.push(line) }),
    );
    const untilLogged = (pattern: RegExp): Promise<unknown> =>
      until(() => lines.join("").match(pattern), { pollMs: 5, state: () => [pattern, lines] });
    const untilReady = (): Promise<unknown> => until(() => store.status === "ready", { pollMs: 5 });
    return { store, lines, untilLogged, untilReady };
  };
  /**
   * Runs `work` with two replicas. Repeats it while a replica loses the server, because a command can exceed its
   * timeout on a busy machine. Errors of `work` are ignored in that case.
   */
  const withReplicas = async (port: number, work: (stores: RedisStore[]) => Promise<unknown>): Promise<void> => {
    for (;;) {
      const replicas = [replica(port), replica(port)];
      await Promise.all(replicas.map(({ untilReady }) => untilReady()));
      const working = work(replicas.map(({ store }) => store));
      await working.catch(() => {});
      for (const { store } of replicas) store.close();
      if (replicas.every(({ lines }) => lines.length === 0)) return void (await working);
    }
  };
  /** How many of `count` concurrent requests are allowed. */
  const allowed = async (limit: ReturnType<typeof createLimiter>, count: number): Promise<number> =>
    (await Promise.all(Array.from({ length: count }, () => limit("key")))).filter(({ isAllowed }) => isAllowed).length;

  test("two replicas, one limit: allowed requests of both together are within the limit", async () => {
    const port = await freePort();
    const server = await start(port);
    await withReplicas(port, async (stores) => {
      const name = `together ${crypto.randomUUID()}`;
      const limits = stores.map((store) => createLimiter(name, 10, 600, store));
      const counts = await Promise.all(limits.map((limit) => allowed(limit, 20)));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10);
    });
    server.kill("SIGTERM");
    await server.exited;
  });

  test("a request, refused by the tenant's limit on two replicas: not counted for the key", async () => {
    const port = await freePort();
    const server = await start(port);
    const limits = { key: { perSecond: 1, burst: 5 }, tenant: { perSecond: 3, burst: 0 } };
    await withReplicas(port, async (stores) => {
      const [one, two] = stores.map((store) => createRequestLimit(limits, store));
      let turn = 0;
      const both: RequestLimit = async (caller, headers) => await (turn++ % 2 ? one : two)?.(caller, headers);
      await withinASecond(
        async () => `ten_${crypto.randomUUID()}`,
        (tenant) => expectOtherLimitUnused(both, tenant),
      );
    });
    server.kill("SIGTERM");
    await server.exited;
  });

  test.each([["SIGKILL"], ["SIGSTOP"]] as const)(
    "the Redis server, lost twice by %s: each replica limits alone until it returns, and logs each loss and return once",
    async (signal) => {
      const port = await freePort();
      let server = await start(port);
      const one = replica(port);
      await one.untilReady();
      for (const round of [1, 2]) {
        const limit = createLimiter(`alone ${round}`, 10, 600, one.store);
        expect(await allowed(limit, 5)).toBe(5);
        server.kill(signal);
        if (signal === "SIGKILL") await server.exited;
        // In memory, the count starts again at zero, and the same limit applies.
        expect(await allowed(limit, 30)).toBe(10);
        expect(await allowed(limit, 30)).toBe(0);
        await until(() => one.store.status === "down", { pollMs: 5 });
        expect(one.lines.filter((line) => line.includes("cannot be reached"))).toHaveLength(round);
        if (signal === "SIGSTOP") server.kill("SIGCONT");
        else server = await start(port);
        await one.untilReady();
        expect(one.lines.filter((line) => line.includes("reached again"))).toHaveLength(round);
        const other = createLimiter(`other ${round}`, 3, 600, one.store);
        expect(await allowed(other, 10)).toBe(3);
        expect(one.lines).toHaveLength(2 * round);
      }
      one.store.close();
      server.kill("SIGTERM");
      await server.exited;
    },
  );

  test("the Redis server, absent at the start: used when it becomes available", async () => {
    const port = await freePort();
    const one = replica(port);
    const limit = createRequestLimit({ key: { perSecond: 1, burst: 0 }, tenant: null }, one.store);
    await one.untilLogged(/REDIS_URL cannot be reached/);
    await limit?.(caller("tenant key"), {});
    await expect(
      (async () => {
        for (let count = 0; count < 50; count++) await limit?.(caller("tenant key"), {});
      })(),
    ).rejects.toThrow("rate_limited");
    const server = await start(port);
    await one.untilLogged(/REDIS_URL is reached again/);
    one.store.close();
    server.kill("SIGTERM");
    await server.exited;
  });

  test("the service with a frozen Redis server: serves requests, and still exits", async () => {
    const port = await freePort();
    const server = await start(port);
    const variables = {
      PORT: "0",
      ...api.database.variables,
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
