/** The service as a process: started, asked, told to stop. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { join } from "node:path";
import { openByTcp } from "@realtime-avatar/db/embedded-testing";
import { migrate } from "@realtime-avatar/db/migrate";
import { openDatabase } from "@realtime-avatar/db/open";
import {
  client,
  seedKey,
  seedTenant,
  type TestDatabase,
  temporaryFolder,
  testDatabase,
  watchLookUps,
} from "@realtime-avatar/db/testing";
import { parseApiKey } from "@realtime-avatar/domain/api-key-secret";
import { bun, REPOSITORY, type RunningProcess, runToEnd, startProcess } from "@realtime-avatar/runtime/testing";
import { readAnswer, requestInit } from "../test/support/api.ts";

// No test asserts a time: a slow disk must not fail one.
setDefaultTimeout(60_000);

const API = "apps/api/src/main.ts";
const CLI = "apps/api/src/cli.ts";
let folder = "";
let database: TestDatabase;

beforeAll(async () => {
  [folder, database] = await Promise.all([temporaryFolder(), testDatabase()]);
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const start = async (
  variables: Record<string, string>,
  command = bun(API),
): Promise<RunningProcess & { url: string }> => {
  const running = startProcess(command, { PORT: "0", ...variables });
  const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
  return { ...running, url };
};
const stop = async (running: RunningProcess): Promise<number> => {
  running.kill("SIGTERM");
  return running.exited;
};
const call = async (url: string, key: string, body: unknown) =>
  readAnswer(await fetch(url, requestInit("POST", { key, body })));

describe("on an empty embedded database", () => {
  test("it shows a first key once, with calls that work when pasted; what is written survives", async () => {
    const variables = { DATA_DIR: join(folder, "first-run") };
    const first = await start(variables);
    const [, key = ""] = await first.waitFor(/export API_KEY=(\S+)/);
    expect(parseApiKey(key)?.environment).toBe("live");
    const [curl = ""] = await first.waitFor(/curl .*/);
    const pasted = await runToEnd(["sh", "-c", curl]);
    const avatar = JSON.parse(pasted.stdout);
    expect(avatar).toMatchObject({
      displayName: "Ada",
      status: "draft",
      environment: "live",
      modelId: "realtime-avatar-live-v1",
    });
    expect(first.stdout()).not.toContain(key);
    expect(first.stderr().split(key)).toHaveLength(3);

    // Another process joins while it runs: the command line sees what the service has written.
    const tenants = await runToEnd(bun(CLI, "tenants", "list", "--json"), variables);
    expect(JSON.parse(tenants.stdout)).toMatchObject([{ id: avatar.tenantId, name: "First tenant" }]);
    expect(existsSync(join(variables.DATA_DIR, "postgres/postmaster.pid"))).toBe(true);
    expect(await stop(first)).toBe(0);
    expect(existsSync(join(variables.DATA_DIR, "postgres/postmaster.pid"))).toBe(false);

    const second = await start({ ...variables, DEFAULT_AVATAR_MODEL_ID: "another-model" });
    const again = await call(`${second.url}/api/v1/avatars`, key, { displayName: "x", sourceKind: "image" });
    expect([again.status, again.body.modelId, again.body.tenantId]).toEqual([201, "another-model", avatar.tenantId]);
    expect(await stop(second)).toBe(0);
    expect(second.stderr()).toBe("");
  });

  test("it can be Ctrl-C'd through the script runner, and the database ends with it", async () => {
    const data = join(folder, "script");
    const running = await start({ DATA_DIR: data }, [process.execPath, "--no-env-file", "start"]);
    await running.waitFor(/export API_KEY/);
    running.kill("SIGINT");
    running.kill("SIGINT");
    await running.exited;
    while (existsSync(join(data, "postgres/postmaster.pid"))) await Bun.sleep(10);
  });
});

describe("on a DATABASE_URL", () => {
  test("it creates nothing by itself, and is ready at once", async () => {
    const running = await start({ DATABASE_URL: database.url });
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    expect(running.stderr()).toBe("");
    expect(running.stdout()).not.toContain(new URL(database.url).password || "no password");
    expect(await database.db.client`select 1 from tenants`).toHaveLength(0);
  });

  test("before the migrations it lives but is not ready; `migrate` makes it so, while it runs", async () => {
    const empty = await testDatabase({ migrated: false });
    const running = await start({ DATABASE_URL: empty.url });
    await running.waitFor(/bun run migrate/);
    const health = async (path: string) => readAnswer(await fetch(running.url + path));
    expect((await health("/healthz")).body).toEqual({ status: "ok" });
    const unready = await health("/readyz");
    expect([unready.status, unready.body]).toEqual([503, { status: "unavailable", reason: "migrations_pending" }]);
    const early = await call(`${running.url}/api/v1/avatars`, (await seedKeyIn(database)).secret.reveal(), {});
    expect([early.status, early.body.code]).toEqual([503, "unavailable"]);

    const migrated = await runToEnd(bun(CLI, "migrate", "--json"), { DATABASE_URL: empty.url });
    expect([migrated.code, JSON.parse(migrated.stdout)]).toEqual([0, { migrated: true }]);
    expect((await health("/readyz")).status).toBe(200);
    expect(await stop(running)).toBe(0);
    await empty.close();
  });

  test("when the database goes, it lives but is not ready", async () => {
    const doomed = await testDatabase();
    const running = await start({ DATABASE_URL: doomed.url });
    await doomed.close();
    const unready = await readAnswer(await fetch(`${running.url}/readyz`));
    expect([unready.status, unready.body.reason]).toEqual([503, "database_unreachable"]);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
  });

  test("while the database is read-only, it lives but is not ready, and says so to a client", async () => {
    const server = await openByTcp(join(folder, "read-only"), { settings: { fsync: "off" } });
    const admin = client(server.url);
    await admin`set default_transaction_read_only = off`;
    const setReadOnly = async (value: "on" | "off"): Promise<void> => {
      await admin.unsafe(`alter system set default_transaction_read_only = ${value}`);
      await admin`select pg_reload_conf()`;
    };
    await migrate(server.url);
    const running = await start({ DATABASE_URL: server.url });
    /** Waits until each of the service's sessions knows. */
    const untilReady = async (status: number) => {
      for (;;) {
        const answer = await readAnswer(await fetch(`${running.url}/readyz`));
        if (answer.status === status) return answer.body;
      }
    };
    await untilReady(200);
    await setReadOnly("on");
    expect(await untilReady(503)).toEqual({ status: "unavailable", reason: "database_read_only" });
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    // A connection that is made now is refused.
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`;
    await Bun.sleep(300);
    expect(await untilReady(503)).toEqual({ status: "unavailable", reason: "database_read_only" });
    const { code, stderr } = await runToEnd(bun(CLI, "tenants", "list"), { DATABASE_URL: server.url });
    expect([code, stderr]).toEqual([1, expect.stringContaining("READ_ONLY")]);
    await setReadOnly("off");
    expect(await untilReady(200)).toEqual({ status: "ok" });
    expect(await stop(running)).toBe(0);
    await admin.end({ timeout: 1 });
    await server.close();
  });

  const seedKeyIn = async ({ db }: TestDatabase) => seedKey(db, await seedTenant(db), { scopes: ["*"] });
});

describe("SIGTERM", () => {
  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "by %s it takes nothing new, finishes what is in flight, and exits with 0",
    async (signal) => {
      const { secret } = await seedKey(database.db, await seedTenant(database.db), { scopes: ["*"] });
      const running = await start({ DATABASE_URL: database.url });
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
      const untilLookedUp = await watchLookUps(database.db);
      const inFlight = call(`${running.url}/api/v1/avatars`, secret.reveal(), body);
      // It is in flight once its credential has been looked up.
      await untilLookedUp();
      running.kill(signal);
      for (;;) {
        const refused = await fetch(`${running.url}/healthz`, { keepalive: false }).then(
          () => false,
          () => true,
        );
        if (refused) break;
      }
      send('"sourceKind": "image"}');
      const answer = await inFlight;
      expect([answer.status, answer.body.displayName]).toEqual([201, "in flight"]);
      expect(await running.exited).toBe(0);
      expect(await database.db.client`select 1 from avatars where id = ${answer.body.id}`).toHaveLength(1);
    },
  );

  test.skipIf(process.platform !== "linux")("SIGHUP does not end what nohup has started", async () => {
    const running = await start({ DATABASE_URL: database.url }, [
      "sh",
      "-c",
      `trap "" HUP; exec ${bun(API).join(" ")}`,
    ]);
    running.kill("SIGHUP");
    await Bun.sleep(200);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
  });

  test.each(["SIGTERM", "SIGHUP", "SIGKILL"] as const)(
    "ending the npm that has started it, by %s, ends it and its database",
    async (signal) => {
      const data = join(folder, `npm-${signal}`);
      // As npx does: npm, a shell, the script runner, the service.
      const script = [process.execPath, "--no-env-file", "start"].join(" ");
      const running = startProcess(["npm", "exec", "--offline", "--call", script], { PORT: "0", DATA_DIR: data });
      const [, url = ""] = await running.waitFor(/"url":"(http:[^"]+)"/);
      await running.waitFor(/export API_KEY/);
      running.kill(signal);
      await running.waitFor(/"msg":"stopped"/);
      const isServing = () =>
        fetch(`${url}/healthz`).then(
          () => true,
          () => false,
        );
      while ((await isServing()) || existsSync(join(data, "postgres/postmaster.pid"))) await Bun.sleep(20);
    },
  );

  test("killed without a chance to close anything, it leaves no database running", async () => {
    const data = join(folder, "kill-9");
    const running = await start({ DATA_DIR: data });
    const postmaster = Number((await readFile(join(data, "postgres/postmaster.pid"), "utf8")).split("\n")[0]);
    running.kill("SIGKILL");
    await running.exited;
    const isAlive = (): boolean => {
      try {
        return process.kill(postmaster, 0);
      } catch {
        return false;
      }
    };
    while (isAlive()) await Bun.sleep(10);
    // It was shut down in order: nothing is left that says that it ran.
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
    const next = await start({ DATA_DIR: data });
    expect(await stop(next)).toBe(0);
  });

  test("connections that are kept alive do not hold it up", async () => {
    const running = await start({ DATABASE_URL: database.url });
    await Promise.all(Array.from({ length: 5 }, () => fetch(`${running.url}/healthz`).then((answer) => answer.text())));
    expect(await stop(running)).toBe(0);
  });
});

describe("a bad start", () => {
  test.each([
    ["PORT", "http"],
    ["PORT", "70000"],
    ["PORT", "-1"],
    ["PORT", "3000 "],
    ["HOST", "not a host!"],
    ["DATABASE_URL", "mysql://user:hunter2@db/x"],
    ["DATABASE_URL", "hunter2"],
    ["DATABASE_URL", "postgres://user:hunter2@127.0.0.1:99999/name"],
    ["DATABASE_URL", "postgres://user:hunter2%zz@127.0.0.1/name"],
    ["LOG_LEVEL", "loud"],
    ["DEFAULT_AVATAR_MODEL_ID", "x".repeat(161)],
  ])("names %s, not its value %j, and exits with 1", async (name, value) => {
    const { code, stdout, stderr } = await runToEnd(bun(API), { PORT: "0", DATA_DIR: folder, [name]: value });
    expect(code).toBe(1);
    expect(stderr).toContain(name);
    expect(stdout + stderr).not.toContain(value);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("a database that is not there", async () => {
    const url = "postgres://user:hunter2@127.0.0.1:1/nothing";
    const { code, stdout, stderr } = await runToEnd(bun(API), { PORT: "0", DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toContain("DATABASE_URL");
    expect(stdout + stderr).not.toContain("hunter2");
  });

  test("a port that is taken, by the service itself too: the first key waits for the next start", async () => {
    const running = await start({ DATABASE_URL: database.url });
    const taken = { PORT: new URL(running.url).port, DATA_DIR: join(folder, "taken") };
    const { code, stderr } = await runToEnd(bun(API), taken);
    expect([code, stderr]).toEqual([
      1,
      `Cannot listen on 127.0.0.1:${taken.PORT} (EADDRINUSE). Set PORT to another port, or HOST.\n`,
    ]);
    expect(existsSync(join(taken.DATA_DIR, "postgres/postmaster.pid"))).toBe(false);
    expect(await stop(running)).toBe(0);

    const next = await start(taken);
    await next.waitFor(/export API_KEY=/);
    expect(await stop(next)).toBe(0);
  });

  test("SIGTERM during the start ends it in order, database and all", async () => {
    const data = join(folder, "early");
    const running = startProcess(bun(API), { PORT: "0", DATA_DIR: data });
    while (!existsSync(join(data, "postgres/postmaster.pid"))) await Bun.sleep(1);
    expect(await stop(running)).toBe(0);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
  });
});

describe("the bundle", () => {
  test("runs with nothing beside it but a database, and says what it lacks without one", async () => {
    const out = await mkdtemp(join(folder, "bundle-"));
    for (const entry of [API, CLI]) {
      const built = await runToEnd([
        process.execPath,
        "build",
        join(REPOSITORY, entry),
        "--target=bun",
        `--outdir=${out}`,
      ]);
      expect(built.code).toBe(0);
    }
    const empty = await testDatabase({ migrated: false });
    const variables = { DATABASE_URL: empty.url };
    expect((await runToEnd(bun(join(out, "cli.js"), "migrate"), variables)).code).toBe(0);
    const running = await start(variables, bun(join(out, "main.js")));
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    await empty.close();

    const alone = await runToEnd(bun(join(out, "main.js")), { PORT: "0", DATA_DIR: join(folder, "alone") });
    expect(alone.code).toBe(1);
    expect(alone.stderr).toMatch(/There is no embedded PostgreSQL .* is not installed.*DATABASE_URL/);
  });
});

describe("a database that is frozen", () => {
  test("is answered for within the deadline, and does not keep the process from ending", async () => {
    const data = join(folder, "frozen");
    const running = await start({ DATA_DIR: data, REQUEST_TIMEOUT_MS: "500" });
    const [, key = ""] = await running.waitFor(/export API_KEY=(\S+)/);
    const create = () => call(`${running.url}/api/v1/avatars`, key, { displayName: "x", sourceKind: "image" });
    expect((await create()).status).toBe(201);
    const config = { databaseUrl: null, dataDirectory: data, deadlineMs: 5000, connections: 1, prepare: true };
    const joined = await openDatabase(config);
    const backends = await joined.db.run<{ pid: number }>(
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
          // The connection that asked for the list has gone.
        }
      }
    };
    signal("SIGSTOP");
    const answer = await create();
    expect([answer.status, answer.body.code]).toEqual([503, "unavailable"]);
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    signal("SIGCONT");
    // Its supervisor stops it once it is thawed, and the next to come starts it anew.
    const next = await start({ DATA_DIR: data });
    expect((await call(`${next.url}/api/v1/avatars`, key, { displayName: "x", sourceKind: "image" })).status).toBe(201);
    expect(await stop(next)).toBe(0);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
  });
});

describe("a slow client", () => {
  /** What a connection receives until it is closed. `talk` may go on writing meanwhile. */
  const conversation = async (
    url: string,
    talk: (write: (text: string) => void, received: () => string) => Promise<void>,
  ): Promise<string> => {
    const { hostname, port } = new URL(url);
    let text = "";
    const socket = connectSocket(Number(port), hostname);
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {});
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    await talk(
      (part) => void socket.write(part),
      () => text,
    );
    await closed;
    return text;
  };

  test("that drips its body is 400 in time and hung up on; what comes in time is made; an idle one is let go", async () => {
    const running = await start({ DATA_DIR: join(folder, "slow"), REQUEST_TIMEOUT_MS: "600", KEEP_ALIVE_MS: "1000" });
    const [, key = ""] = await running.waitFor(/export API_KEY=(\S+)/);
    const body = JSON.stringify({ displayName: "x", sourceKind: "image" });
    const head = `POST /api/v1/avatars HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const drip = async (start: string, write: (text: string) => void, received: () => string): Promise<void> => {
      write(start);
      while (received() === "") {
        write("1");
        await Bun.sleep(20);
      }
    };
    const answers = await Promise.all([
      conversation(running.url, (write, received) => drip(`${head}Content-Length: 9999\r\n\r\n`, write, received)),
      conversation(running.url, async (write) => write(`${head}Content-Length: 9999\r\n\r\n{`)),
      conversation(running.url, async (write) => write(`${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`)),
    ]);
    for (const answer of answers) {
      expect(answer).toStartWith("HTTP/1.1 400 Bad Request");
      expect(answer).toMatch(/^connection: close\r$/im);
      expect(answer).toContain('"code":"malformed_request"');
    }
    const slow = await conversation(running.url, async (write) => {
      write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
      await Bun.sleep(300);
      write(body.slice(5));
    });
    expect(slow).toStartWith("HTTP/1.1 201 Created");
    expect(slow).not.toMatch(/^connection: close/im);
    running.kill("SIGTERM");
    expect(await running.exited).toBe(0);
  });
});
