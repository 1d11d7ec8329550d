/** The service as a process: its start, and its first responses. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { cp } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import { dirname, join } from "node:path";
import { openDatabase } from "@realtime-avatar/db/open";
import { parseApiKey } from "@realtime-avatar/domain/api-keys/secret";
import { ConfigError } from "@realtime-avatar/runtime/config";
import { bundleProgram } from "@realtime-avatar/testing/bundles";
import { seedCaller, seedMovement, seedSession } from "@realtime-avatar/testing/credits";
import { client, preparedDataDirectory, type TestDatabase, testDatabase } from "@realtime-avatar/testing/database";
import { fileDatabase, fileFolder } from "@realtime-avatar/testing/fixture";
import { seedPerson } from "@realtime-avatar/testing/people/seeds";
import { openByTcp } from "@realtime-avatar/testing/postgres/embedded";
import { watchLookUps } from "@realtime-avatar/testing/postgres/waits";
import {
  bun,
  REPOSITORY,
  type RunningProcess,
  release,
  runToEnd,
  startProcess,
} from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import { readAnswer } from "../test/support/api.ts";
import { API, call, start, stop } from "../test/support/process.ts";
import { readConfig } from "./config.ts";

const CLI = "apps/cli/src/main.ts";

const folder = await fileFolder();
const database = await fileDatabase({ isServed: true });
/** A separate database for the service that sweeps, so that tests wait only for look-ups of that service. */
const own = await fileDatabase({ isServed: true });

const seedKeyIn = async ({ db }: TestDatabase) => seedKey(db, await seedTenant(db), { scopes: ["*"] });

/** Whether the service closes overdue sessions, and so has a metric for it. It runs with a METRICS_PORT. */
const isSweepingNow = async (running: RunningProcess): Promise<boolean> => {
  const [, metrics = ""] = await running.waitFor(/"metrics":"(http:[^"]+)"/);
  return (await (await fetch(metrics)).text()).includes("realtime_avatar_sessions_swept_total");
};

test("SWEEP_IN_API, neither true nor false: refused", () => {
  expect(() => readConfig({ SWEEP_IN_API: "yes" })).toThrow(new ConfigError(["SWEEP_IN_API must be true or false."]));
});

describe("an empty embedded database", () => {
  test("a first start, repeated: the key is shown once, its commands work, and data survives", async () => {
    const variables = { DATA_DIR: join(folder, "first-run"), METRICS_PORT: "0" };
    const first = await start(variables);
    expect(await isSweepingNow(first)).toBe(true);
    const [, key = ""] = await first.waitFor(/export API_KEY=(\S+)/);
    expect(parseApiKey(key)?.environment).toBe("live");
    await first.waitFor(/Try every operation/);
    const [printed = ""] = first.stderr().match(/npx .* sample-photo\n.*\n.*\n/) ?? [];
    const script = printed.replace(
      /npx .*/,
      `cd ${folder} && ${bun(join(REPOSITORY, "scripts/sample-photo.ts")).join(" ")} >&2`,
    );
    // A later program, as in the README, finds the ids in its environment.
    const read = `curl -sS ${first.url}/api/v1/avatars/$AVATAR_ID -H "Authorization: Bearer $API_KEY"`;
    const pasted = `${script}\n${read}\necho; printenv ASSET_ID AVATAR_ID`;
    const shown = (await runToEnd(["sh", "-c", pasted], { API_KEY: key })).stdout.split("\n");
    const avatar = JSON.parse(shown[0] ?? "");
    expect(avatar).toMatchObject({ displayName: "Ada", environment: "live" });
    expect(shown.slice(1)).toEqual([avatar.sourceAssetId, avatar.id, ""]);
    expect(first.stdout()).not.toContain(key);
    expect(first.stderr().split(key)).toHaveLength(2);

    // Another process joins while the service runs: the command line sees the service's writes.
    const tenants = await runToEnd(bun(CLI, "tenants", "list", "--json"), variables);
    expect(JSON.parse(tenants.stdout)).toMatchObject([{ id: avatar["tenantId"], name: "First tenant" }]);
    expect(existsSync(join(variables.DATA_DIR, "postgres/postmaster.pid"))).toBe(true);
    expect(await stop(first)).toBe(0);
    expect(existsSync(join(variables.DATA_DIR, "postgres/postmaster.pid"))).toBe(false);

    const second = await start({ ...variables, DEFAULT_AVATAR_MODEL_ID: "another-model", SWEEP_IN_API: "false" });
    expect(await isSweepingNow(second)).toBe(false);
    const again = await call(`${second.url}/api/v1/avatars`, key, { displayName: "x", sourceKind: "image" });
    expect([again.status, again.body.modelId, again.body.tenantId]).toEqual([201, "another-model", avatar["tenantId"]]);
    expect(await stop(second)).toBe(0);
    // The key is not shown again. While no user exists, each start shows a new link for the first person.
    expect(second.stderr()).not.toContain("rta_live_");
    const restarted = "Your API keys stay valid. Earlier links to the dashboard no longer work.";
    expect([first, second].map(({ stderr }) => stderr().includes(restarted))).toEqual([false, true]);
    const origin = `http://localhost:${new URL(second.url).port}`;
    const pages = `\nThe dashboard: ${origin}/dashboard\nEvery operation, to try in a browser: ${origin}/docs\n`;
    expect([first, second].map(({ stderr }) => stderr().endsWith(pages))).toEqual([false, true]);
    const linkOf = (text: string) =>
      /http:\/\/localhost:\d+\/dashboard\/register#(rta_invitation_\w+)/.exec(text)?.[1] ?? "";
    const links = [linkOf(first.stderr()), linkOf(second.stderr())];
    expect(new Set([...links, ""]).size).toBe(3);
  });
});

test("a start, after the registration of the first person: prints the pages, without a key or a link", async () => {
  const variables = { DATA_DIR: await preparedDataDirectory(join(folder, "registered")) };
  const { server: db, close } = await openDatabase(readConfig(variables).database);
  await seedPerson(db, await seedTenant(db), "owner");
  await close();
  const running = await start(variables);
  expect(await stop(running)).toBe(0);
  const origin = `http://localhost:${new URL(running.url).port}`;
  const pages = `\nThe dashboard: ${origin}/dashboard\nEvery operation, to try in a browser: ${origin}/docs\n`;
  expect(running.stderr()).toBe(pages);
});

describe("a DATABASE_URL", () => {
  test("a start, on a DATABASE_URL: no first key, no sweeps, ready", async () => {
    // The number of proxies is configured, so no warning is logged.
    const proxy = { PUBLIC_URL: "https://avatars.example.com", TRUSTED_PROXY_HOPS: "1" };
    const variables = { ...database.variables, DATA_DIR: folder, METRICS_PORT: "0", ...proxy };
    // The worker's program is beside it, but is not started.
    const running = await start(variables, release());
    expect(await isSweepingNow(running)).toBe(false);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    expect([running.stderr(), running.stdout()]).toEqual([
      "",
      expect.not.stringMatching(/TRUSTED_PROXY_HOPS|worker|OpenAI/),
    ]);
    expect(running.stdout()).not.toContain(new URL(database.url).password || "no password");
    expect(await database.db.client`select 1 from tenants`).toHaveLength(0);
  });

  test("a start, before the migrations: live but not ready; ready after migrate", async () => {
    const empty = await testDatabase({ migrated: false });
    const OPENAI_API_KEY = "sk-secret-0123456789";
    const running = await start({ DATABASE_URL: empty.url, PUBLIC_URL: "https://avatars.example.com", OPENAI_API_KEY });
    await running.waitFor(/bun run migrate/);
    await running.waitFor(/"level":30,.*sent to OpenAI; with TTS_URL=off/);
    await running.waitFor(/"level":40,.*TRUSTED_PROXY_HOPS is 0/);
    const health = async (path: string) => readAnswer(await fetch(running.url + path));
    expect((await health("/healthz")).body).toEqual({ status: "ok" });
    const unready = await health("/readyz");
    expect([unready.status, unready.body]).toEqual([503, { status: "unavailable", reason: "migrations_pending" }]);
    const early = await call(`${running.url}/api/v1/avatars`, (await seedKeyIn(database)).secret.reveal(), {});
    expect([early.status, early.body.code]).toEqual([503, "unavailable"]);

    const migrated = await runToEnd(bun(CLI, "migrate", "--json"), { DATABASE_URL: empty.url });
    expect([migrated.code, JSON.parse(migrated.stdout)]).toEqual([0, { migrated: true }]);
    expect((await health("/readyz")).status).toBe(200);
    await empty.close();
    const gone = await health("/readyz");
    expect([gone.status, gone.body.reason]).toEqual([503, "database_unreachable"]);
    expect((await health("/healthz")).status).toBe(200);
    expect(await stop(running)).toBe(0);
    expect(running.stdout()).not.toContain(OPENAI_API_KEY);
  });

  test("the service with a read-only database: live but not ready, and clients learn the cause", async () => {
    const data = await preparedDataDirectory(join(folder, "read-only"));
    const server = await openByTcp(data, { settings: { fsync: "off" } });
    const admin = client(server.url);
    await admin`set default_transaction_read_only = off`;
    const setReadOnly = async (value: "on" | "off"): Promise<void> => {
      await admin.unsafe(`alter system set default_transaction_read_only = ${value}`);
      await admin`select pg_reload_conf()`;
    };
    const running = await start({ DATABASE_URL: server.url });
    /** Waits until `/readyz` has this status: each session of the service must notice the new setting. */
    const untilReady = (status: number) =>
      until(async () => {
        const answer = await readAnswer(await fetch(`${running.url}/readyz`));
        return answer.status === status && answer.body;
      });
    await untilReady(200);
    await setReadOnly("on");
    expect(await untilReady(503)).toEqual({ status: "unavailable", reason: "database_read_only" });
    expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
    // New connections are refused now. Until one succeeds, the database counts as unreachable.
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()`;
    await until(async () => {
      const answer = await readAnswer(await fetch(`${running.url}/readyz`));
      expect(answer.status).toBe(503);
      const { reason } = answer.body as { reason: string };
      expect(["database_read_only", "database_unreachable"]).toContain(reason);
      return reason === "database_read_only";
    });
    const { code, stderr } = await runToEnd(bun(CLI, "tenants", "list"), { DATABASE_URL: server.url });
    expect([code, stderr]).toEqual([1, expect.stringContaining("READ_ONLY")]);
    await setReadOnly("off");
    expect(await untilReady(200)).toEqual({ status: "ok" });
    expect(await stop(running)).toBe(0);
    await admin.end({ timeout: 1 });
    await server.close();
  });
});

describe("a bad start", () => {
  /** Why a start with these variables fails: runs the first two steps of `start`. */
  const failureOf = async (variables: Record<string, string>): Promise<Error> => {
    try {
      await (await openDatabase(readConfig(variables).database)).close();
    } catch (error) {
      return error as Error;
    }
    throw new Error("it starts");
  };

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
  ])("a start, %s set to %j: the error names the variable, not the value", async (name, value) => {
    const error = await failureOf({ PORT: "0", DATA_DIR: folder, [name]: value });
    expect(error.message).toContain(name);
    expect(error.message).not.toContain(value);
    expect(error.message.split("\n")).toHaveLength(1);
  });

  test.each([
    ["by its configuration", "PORT", "http"],
    ["because its database does not exist", "DATABASE_URL", "postgres://user:hunter2@127.0.0.1:1/nothing"],
  ])("a start, refused %s: prints that error alone, exit 1", async (_, name, value) => {
    const variables = { PORT: "0", DATA_DIR: folder, [name]: value };
    const { message } = await failureOf(variables);
    expect(message).toContain(name);
    expect(message).not.toContain("hunter2");
    expect(await runToEnd(bun(API), variables)).toEqual({ code: 1, stdout: "", stderr: `${message}\n` });
  });

  test.each(["api", "worker", "avatar-worker", "cli"])(
    "%s, with --version: prints the version, and starts nothing",
    async (app) => {
      const unused = join(folder, "unused");
      const { version } = await Bun.file(join(REPOSITORY, "apps", app, "package.json")).json();
      expect(await runToEnd(bun(`apps/${app}/src/main.ts`, "--version"), { DATA_DIR: unused })).toEqual({
        code: 0,
        stdout: `${version}\n`,
        stderr: "",
      });
      expect(existsSync(unused)).toBe(false);
    },
  );

  test("a start, with several bad variables: exit 1, with an error that names all", async () => {
    const bad = { PORT: "http", LOG_LEVEL: "loud", LIVEKIT_EMBEDDED: "no", OTEL_EXPORTER_OTLP_ENDPOINT: "x" };
    const { code, stdout, stderr } = await runToEnd(bun(API), { DATA_DIR: folder, ...bad });
    expect([code, stdout]).toEqual([1, ""]);
    const lines = stderr.trimEnd().split("\n");
    expect(lines.map((line) => line.split(" ")[0] ?? "").sort()).toEqual(Object.keys(bad).sort());
  });

  test("a start, with --help or an unknown argument: starts nothing", async () => {
    const unused = join(folder, "unused");
    const [help, refused] = await Promise.all(
      ["--help", "--secret=hunter2"].map((argument) => runToEnd(bun(API, argument), { DATA_DIR: unused })),
    );
    expect([help?.code, help?.stderr]).toEqual([0, ""]);
    expect(help?.stdout).toContain("DATABASE_URL");
    expect([refused?.code, refused?.stdout]).toEqual([2, ""]);
    expect(refused?.stderr).toContain("Unknown argument: --secret\n");
    expect(existsSync(unused)).toBe(false);
  });

  test("a start on a taken port: exit 1; the next start, by the script runner: shows the first key, and ends by Ctrl-C", async () => {
    const holder = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const data = await preparedDataDirectory(join(folder, "taken"));
    const taken = { PORT: String(holder.port), DATA_DIR: data };
    const { code, stderr } = await runToEnd(bun(API), taken);
    expect([code, stderr]).toEqual([
      1,
      `Cannot listen on 127.0.0.1:${taken.PORT} (EADDRINUSE). Set PORT to another port, or HOST.\n`,
    ]);
    expect(existsSync(join(taken.DATA_DIR, "postgres/postmaster.pid"))).toBe(false);
    await holder.stop();

    // Uses another port, because this one may be taken again by now.
    const next = await start({ ...taken, PORT: "0" }, [process.execPath, "--no-env-file", "start"]);
    await next.waitFor(/export API_KEY=/);
    next.kill("SIGINT");
    next.kill("SIGINT");
    await next.exited;
    await until(() => !existsSync(join(data, "postgres/postmaster.pid")));
  });

  test("SIGTERM during a start: the service and its database shut down cleanly", async () => {
    const data = await preparedDataDirectory(join(folder, "early"));
    const running = startProcess(bun(API), { PORT: "0", DATA_DIR: data });
    await until(() => existsSync(join(data, "postgres/postmaster.pid")), { pollMs: 1 });
    expect(await stop(running)).toBe(0);
    expect(existsSync(join(data, "postgres/postmaster.pid"))).toBe(false);
  });
});

describe("the bundle", () => {
  test("the bundle, alone in a folder: runs with a database; without one, names the missing part", async () => {
    const out = join(folder, "bundle");
    for (const [entry, name] of [
      [API, "api"],
      [CLI, "cli"],
    ] as const) {
      await cp(dirname(bundleProgram(entry)), join(out, name), { recursive: true });
    }
    const empty = await testDatabase({ migrated: false });
    const variables = { DATABASE_URL: empty.url };
    expect((await runToEnd(bun(join(out, "cli/main.js"), "migrate"), variables)).code).toBe(0);
    const running = await start({ ...variables, WORKER: "true" }, bun(join(out, "api/main.js")));
    await running.waitFor(/"level":40,.*the worker's program is not beside this one/);
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(await stop(running)).toBe(0);
    await empty.close();

    const alone = await runToEnd(bun(join(out, "api/main.js")), { PORT: "0", DATA_DIR: join(folder, "alone") });
    expect(alone.code).toBe(1);
    expect(alone.stderr).toMatch(/There is no embedded PostgreSQL .* is not installed.*DATABASE_URL/);
  });
});

describe("a service with short timeouts that sweeps", () => {
  let running: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    const settings = { REQUEST_TIMEOUT_MS: "2000", KEEP_ALIVE_MS: "1000", SWEEP_IN_API: "true" };
    running = await start({ ...own.variables, PUBLIC_URL: "http://localhost:3000", ...settings });
  });
  afterAll(async () => {
    expect(await stop(running)).toBe(0);
    expect(running.stdout()).not.toContain("TRUSTED_PROXY_HOPS");
  });

  test("an overdue session: closed", async () => {
    const { db } = own;
    const tenantId = await seedTenant(db);
    await seedMovement(db, tenantId);
    const id = await seedSession(db, (await seedCaller(db, tenantId)).caller);
    await db.client`update usage_sessions set expires_at = now() - interval '1 second' where id = ${id}`;
    await running.waitFor(/"sessions":1,.*"closed overdue sessions"/);
  });

  /** The bytes that a connection receives until it is closed. `talk` can write meanwhile. */
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

  test("a client that sends its body too slowly: 400 and closed; in time: 201; an idle connection: closed", async () => {
    const key = (await seedKeyIn(own)).secret.reveal();
    const body = JSON.stringify({ displayName: "x", sourceKind: "image" });
    const head = `POST /api/v1/avatars HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    const drip = async (start: string, write: (text: string) => void, received: () => string): Promise<void> => {
      write(start);
      while (received() === "") {
        write("1");
        await Bun.sleep(20);
      }
    };
    const tooSlow = Promise.all([
      conversation(running.url, (write, received) => drip(`${head}Content-Length: 9999\r\n\r\n`, write, received)),
      conversation(running.url, async (write) => write(`${head}Content-Length: 9999\r\n\r\n{`)),
      conversation(running.url, async (write) => write(`${head}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`)),
    ]);
    // The look-ups of their credentials have completed, or complete before that of the next request.
    const inTime = async (): Promise<string> => {
      const untilLookedUp = await watchLookUps(own);
      const answer = await conversation(running.url, async (write) => {
        write(`${head}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
        await untilLookedUp();
        write(body.slice(5));
      });
      // On a busy machine, a request can exceed the two seconds.
      return answer.startsWith("HTTP/1.1 201 Created") ? answer : inTime();
    };
    const slow = await inTime();
    expect(slow).not.toMatch(/^connection: close/im);
    for (const answer of await tooSlow) {
      expect(answer).toStartWith("HTTP/1.1 400 Bad Request");
      expect(answer).toMatch(/^connection: close\r$/im);
      expect(answer).toContain('"code":"malformed_request"');
    }
  });
});
