/**
 * Clocks that jump and a slow disk, simulated by the library of `support/preload.c` in the service or in PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rm } from "node:fs/promises";
import { client } from "@realtime-avatar/testing/database";
import { freePort } from "@realtime-avatar/testing/network/ports";
import type { Cluster } from "@realtime-avatar/testing/postgres/cluster";
import { startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import type { Answer, CallOptions } from "../support/api.ts";
import { binariesWith, canPreload, NO_PRELOAD, type Preload, preloadIn } from "./support/preload.ts";
import { ask, cluster, DEADLINE_MS, possible, runFault, type Scene, seedRoot, startService } from "./support/scene.ts";
import { startServer } from "./support/server.ts";

const HOUR = 3600;
const JUMPS = [2 * HOUR, -2 * HOUR, 0];
const inHours = (hours: number): string => new Date(Date.now() + 1000 * HOUR * hours).toISOString();

/** Calls the service until the response is a success or `expected`. */
const callUntil = async (
  { service }: Pick<Scene, "service">,
  method: string,
  path: string,
  options: CallOptions,
  expected: readonly number[] = [200, 201],
): Promise<Answer> => {
  for (let attempt = 0; ; attempt++) {
    const answer = await ask(service, method, path, options);
    if (expected.includes(answer.status) || attempt === 20) return answer;
    await Bun.sleep(50);
  }
};

/** Witnesses: a create that is repeated after each jump, and a key that is used after each. Neither may be affected. */
const witnessOf = async (scene: Scene) => {
  const key = scene.rootKey;
  const create = {
    key,
    body: { displayName: "witness", sourceKind: "image" },
    headers: { "idempotency-key": "witness" },
  };
  const first = await callUntil(scene, "POST", "/api/v1/avatars", create);
  const body = { name: "for an hour", expiresAt: inHours(1) };
  const shortLived = await callUntil(scene, "POST", "/api/v1/api-keys", { key, body });
  let lastUsedAt = 0;
  return {
    /** The status and the code of a request with the key that expires in an hour. */
    shortLived: async (): Promise<string> => {
      const answer = await callUntil(
        scene,
        "GET",
        "/api/v1/api-keys/self",
        { key: shortLived.body.apiKey },
        [200, 401],
      );
      return answer.status === 200 ? "200" : `${answer.status} ${answer.body.code}`;
    },
    /**
     * Repeats the request, which must get the same response, and uses the key, whose last use must not go back. Returns
     * the time of the last use.
     */
    check: async (): Promise<number> => {
      const again = await callUntil(scene, "POST", "/api/v1/avatars", create);
      expect([again.status, again.body.id, again.headers.get("idempotent-replayed")]).toEqual([
        201,
        first.body.id,
        "true",
      ]);
      const { body } = await callUntil(scene, "GET", "/api/v1/api-keys/self", { key });
      const used = body.lastUsedAt === null ? 0 : Date.parse(body.lastUsedAt);
      expect(used).toBeGreaterThanOrEqual(lastUsedAt);
      lastUsedAt = used;
      return used;
    },
  };
};

/**
 * Expects that the order of the ids is the order of `created_at`. Duplicates need no check, because ids are primary
 * keys.
 */
const expectSortedIds = async (databaseUrl: string): Promise<void> => {
  const sql = client(databaseUrl);
  const outOfOrder = await sql`
    select * from (select id, created_at, lag(created_at) over (order by id) as before from avatars) ids
    where created_at < before`;
  await sql.end();
  expect([...outOfOrder]).toEqual([]);
};

let folder = "";
let preload: Preload;

const REDIS = Bun.which("redis-server") ?? Bun.which("valkey-server");
const hasRedis = possible("a clock that jumps, with Redis", REDIS !== null, "there is no redis-server");
const isPossible = possible("clocks that jump, and a slow disk", canPreload, NO_PRELOAD);

describe.skipIf(!isPossible)("a clock that jumps", () => {
  beforeAll(async () => {
    folder = await temporaryFolder();
    preload = await preloadIn(folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("the service's clock, jumping: the database's clock decides about expiry", async () => {
    const databaseUrl = await cluster.newDatabase();
    await runFault(
      "service's clock jumps by 2 h, both ways",
      async (scene) => {
        const { load, rootKey } = scene;
        const witness = await witnessOf(scene);
        for (const jump of JUMPS) {
          await preload.setClock(jump);
          await load.untilSuccesses(150);
          expect(await witness.shortLived()).toBe("200");
          const used = await witness.check();
          expect(used).toBeLessThanOrEqual(Date.now());
          // By the database's clock, one key is valid for another hour. The other one has expired an hour ago. The
          // service's clock does not matter.
          for (const [hours, status] of [
            [1, 201],
            [-1, 422],
          ] as const) {
            const body = { name: "key", expiresAt: inHours(hours) };
            const answer = await callUntil(scene, "POST", "/api/v1/api-keys", { key: rootKey, body }, [201, 422]);
            expect([jump, hours, answer.status]).toEqual([jump, hours, status]);
          }
        }
        load.healed();
      },
      { databaseUrl, variables: preload.variables },
    );
    await expectSortedIds(databaseUrl);
  });

  /** Exhausts a limit after each jump, and checks `Retry-After` of the refusals. */
  const expectSaneLimit = async (variables: Record<string, string>): Promise<void> => {
    const databaseUrl = await cluster.newDatabase();
    const key = await seedRoot(databaseUrl);
    const limits = { RATE_LIMIT_RPS: "2", RATE_LIMIT_BURST: "3", ...variables };
    const service = await startService(databaseUrl, { ...preload.variables, ...limits });
    const ask = () => callUntil({ service }, "GET", "/api/v1/api-keys/self", { key }, [200, 429]);
    for (const jump of [0, ...JUMPS]) {
      await preload.setClock(jump);
      const answers = await Array.fromAsync(Array(40), ask);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThan(20);
      for (const { headers } of refused) {
        const resets = [...(headers.get("ratelimit") ?? "").matchAll(/;t=(-?\d+)/g)].map(([, text]) => Number(text));
        for (const seconds of [Number(headers.get("retry-after")), ...resets]) expect(seconds).toBeWithin(1, 11);
      }
      await Bun.sleep(1000 * Number(refused.at(-1)?.headers.get("retry-after")));
      expect((await ask()).status).toBe(200);
    }
  };

  test("the service's clock, jumping: a limit holds, Retry-After is within its window", () => expectSaneLimit({}));

  test.skipIf(!hasRedis)(
    "the service's clock, jumping, with Redis: a limit holds, Retry-After is within its window",
    async () => {
      const port = String(await freePort());
      const redis = startProcess([REDIS ?? "", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder]);
      await redis.waitFor(/Ready to accept connections/);
      await expectSaneLimit({ REDIS_URL: `redis://127.0.0.1:${port}` });
      redis.kill("SIGKILL");
      await redis.exited;
    },
  );
});

describe.skipIf(!isPossible)("a PostgreSQL with its own clock and disk", () => {
  let own: Cluster;
  let dials: Preload;
  let ownFolder = "";
  beforeAll(async () => {
    ownFolder = await temporaryFolder();
    dials = await preloadIn(ownFolder);
    own = await startServer({ binaries: await binariesWith(ownFolder, await cluster.pid(), dials.variables) });
  });
  afterAll(async () => {
    await own.close();
    await rm(ownFolder, { recursive: true });
  });

  test("the database's clock, jumping: keys expire by it, idempotent requests are not repeated", async () => {
    const databaseUrl = await own.newDatabase();
    await runFault(
      "database's clock jumps by 2 h, both ways",
      async (scene) => {
        const witness = await witnessOf(scene);
        for (const jump of JUMPS) {
          await dials.setClock(jump);
          await scene.load.untilSuccesses(150);
          expect([jump, await witness.shortLived()]).toEqual([jump, jump > 0 ? "401 expired_api_key" : "200"]);
          const used = await witness.check();
          expect(used).toBeLessThanOrEqual(Date.now() + 2 * 1000 * HOUR);
        }
        scene.load.healed();
      },
      { databaseUrl },
    );
    await expectSortedIds(databaseUrl);
  });

  test("the database's disk, slow beyond the deadline: no lost or doubled row", async () => {
    const SLOW_MS = 1.5 * DEADLINE_MS;
    const row = await runFault(
      "disk slow: fsync takes 0.1 s, then 3 s",
      async ({ load, service, rootKey }) => {
        await dials.setDisk(100);
        // Several commits share a flush, so the service still acknowledges many of them.
        await load.untilSuccesses(100);
        await dials.setDisk(SLOW_MS);
        await load.untilFailure();
        const end = performance.now() + SLOW_MS;
        while (performance.now() < end) {
          // Reads do not wait for a flush.
          const read = await ask(service, "GET", "/api/v1/api-keys/self", { key: rootKey });
          expect(["200", "503"]).toContain(String(read.status));
          await Bun.sleep(100);
        }
        await dials.setDisk(0);
        load.healed();
      },
      // Writes that began before the disk is fast again still take their time.
      { databaseUrl: await own.newDatabase(), backMs: SLOW_MS + DEADLINE_MS },
    );
    expect(row.unknown).toBeGreaterThan(0);
  });
});
