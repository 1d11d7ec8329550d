/** The end of the service as a process: on signals, with requests in flight, and with a frozen database. */
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openDatabase } from "@realtime-avatar/db/open";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { watchLookUps } from "@realtime-avatar/testing/postgres/waits";
import { bun, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { API, call, start, stop } from "../test/support/process.ts";

const isLong = process.env["LONG"] === "1";

const folder = await fileFolder();
const database = await fileDatabase({ isServed: true });

describe("SIGTERM", () => {
  // `main-worker.system.test.ts` tests SIGINT, and `replicas.system.test.ts` SIGTERM with requests in flight.
  test.each((["SIGHUP", "SIGTERM"] as const).slice(0, isLong ? 2 : 1))(
    "the service, on %s, idle connections kept alive: no new work, current requests finish, exit 0",
    async (signal) => {
      const { secret } = await seedKey(database.db, await seedTenant(database.db), { scopes: ["*"] });
      const running = await start(database.variables);
      await Promise.all([1, 2, 3, 4, 5].map(async () => (await fetch(`${running.url}/healthz`)).text()));
      let send: (text: string) => void = () => {};
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(Buffer.from('{"displayName": "in flight", '));
          send = (text) => {
            controller.enqueue(Buffer.from(text));
            controller.close();
          };
        },
      });
      const untilLookedUp = await watchLookUps(database);
      const inFlight = call(`${running.url}/api/v1/avatars`, secret.reveal(), body);
      // The request is in flight when its credential has been looked up.
      await untilLookedUp();
      running.kill(signal);
      await until(
        () =>
          fetch(`${running.url}/healthz`, { keepalive: false }).then(
            () => false,
            () => true,
          ),
        { pollMs: 1 },
      );
      send('"sourceKind": "image"}');
      const answer = await inFlight;
      expect([answer.status, answer.body.displayName]).toEqual([201, "in flight"]);
      expect(await running.exited).toBe(0);
      expect(await database.db.client`select 1 from avatars where id = ${answer.body.id}`).toHaveLength(1);
    },
  );

  test.skipIf(process.platform !== "linux")("SIGHUP, under nohup: the service continues", async () => {
    const running = await start(database.variables, ["sh", "-c", `trap "" HUP; exec ${bun(API).join(" ")}`]);
    running.kill("SIGHUP");
    await Bun.sleep(200);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
  });

  // npm cannot forward SIGKILL. The other signals are tested only with LONG=1.
  const ends = (["SIGKILL", "SIGTERM", "SIGHUP"] as const).slice(0, isLong ? 3 : 1);
  test.each(ends)("the npm that started the service, ended by %s: service and database end", async (signal) => {
    const data = await preparedDataDirectory(join(folder, `npm-${signal}`));
    // The processes of npx: npm, a shell, the script runner, the service.
    const script = [process.execPath, "--no-env-file", "start"].join(" ");
    // `main-worker.system.test.ts` tests the end of its worker.
    const variables = { PORT: "0", DATA_DIR: data, WORKER: "false" };
    const running = startProcess(["npm", "exec", "--offline", "--call", script], variables);
    const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
    await running.waitFor(/export API_KEY/);
    running.kill(signal);
    await running.waitFor(/"msg":"stopped"/);
    const isServing = () =>
      fetch(`${url}/healthz`).then(
        () => true,
        () => false,
      );
    await until(async () => !(await isServing()) && !existsSync(join(data, "postgres/postmaster.pid")));
  });
});

describe("a frozen database", () => {
  test("a frozen database, during requests: an error within the deadline, and the service still exits", async () => {
    const data = await preparedDataDirectory(join(folder, "frozen"));
    const running = await start({ DATA_DIR: data, REQUEST_TIMEOUT_MS: "2000" });
    const [, key = ""] = await running.waitFor(/export API_KEY=(\S+)/);
    const create = () => call(`${running.url}/api/v1/avatars`, key, { displayName: "x", sourceKind: "image" });
    // On a slow machine, the first requests can exceed the time limit.
    while ((await create()).status !== 201);
    const config = { databaseUrl: null, dataDirectory: data, deadlineMs: 5000, connections: 1, prepare: true };
    const joined = await openDatabase(config);
    const backends = await joined.server.run<{ pid: number }>(
      "select pid from pg_stat_activity where backend_type = 'client backend'",
      [],
    );
    await joined.close();
    const postmaster = Number((await readFile(join(data, "postgres/postmaster.pid"), "utf8")).split("\n")[0]);
    const pids = [postmaster, ...backends.map((row) => row.pid)];
    const signal = (name: NodeJS.Signals): void => {
      for (const pid of pids) {
        try {
          process.kill(pid, name);
        } catch {
          // The connection of the request for the list is closed.
        }
      }
    };
    signal("SIGSTOP");
    const answer = await create();
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    signal("SIGCONT");
    // The supervisor of PostgreSQL stops it when it runs again.
    await until(() => !existsSync(join(data, "postgres/postmaster.pid")));
  });
});
