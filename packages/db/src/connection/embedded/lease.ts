/**
 * The lease of a process on the shared embedded server: a shared advisory lock, held on a separate connection while the
 * process uses the server. A process that gets the lock exclusively is the last one, and stops the server.
 */
import postgres from "postgres";
import { driver } from "../server/driver.ts";
import { findServer, isClusterServer, type Server } from "./server.ts";
import { announce, isSupervised, type Presence } from "./supervisor.ts";

const STOP_DEADLINE_MS = 15_000;
const LEAVE_DEADLINE_MS = 2000;
/** How often the state of the server is checked while it starts or stops. */
export const POLL_MS = 10;
/** The maximum time that a supervisor needs to remove its files after its server has ended. */
const TIDY_MS = 1000;
/** The pause after a failed attempt to take a lost shared lock again. */
const RETAKE_MS = 200;
/** The key of the advisory lock: any number, the same in every process. */
const LEASE = 7_229_002;

export const pause = (milliseconds: number): Promise<void> => new Promise((done) => setTimeout(done, milliseconds));

/** A cluster: its folder, the user id of its owner, and the password of the user postgres. */
export type Cluster = { folder: string; owner: number; password: string };

const urlOf = ({ password }: Cluster, { host }: Server): string =>
  `postgres://postgres:${password}@${encodeURIComponent(host.host)}:${host.port}/postgres`;

/** The connection with the shared lock. */
type SharedLock = {
  client: postgres.Sql;
  /** `null` where the server has no supervisor. */
  presence: Presence | null;
  /** Closes the connection, which releases the lock. */
  end(): Promise<void>;
};

/**
 * Connects and takes the shared lock; `null` when no server runs, or when it is about to stop. `onLost` is called once
 * if the connection is lost before `end`.
 */
const takeSharedLock = async (
  cluster: Cluster,
  server: Server,
  presence: Presence | null,
  onLost: () => void,
): Promise<SharedLock | null> => {
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
    // A process that stops the server holds the lock exclusively. This statement then waits, and fails when the server
    // ends.
    await client`select pg_advisory_lock_shared(${LEASE})`;
    // The process that stops the server held the lock until the server closed its connection. Before that, the server
    // has written to its file that it is stopping.
    const present = await findServer(cluster.folder, cluster.owner);
    if (present?.isReady && present.pid === server.pid && presence?.isKnown() !== false) {
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

/** The lease of this process: a shared lock, which is taken again when it is lost. */
export type Lease = { url: string; sharedLock: SharedLock | null; isLeaving: boolean };

/**
 * Takes a shared lock in `server`; `null` when the server is about to stop. A server that recovers from a crash closes
 * every connection. Without a new shared lock, the next process that leaves would take itself for the last one and stop
 * the server.
 */
export const takeLease = async (cluster: Cluster, server: Server, presence: Presence | null): Promise<Lease | null> => {
  const lease: Lease = { url: urlOf(cluster, server), sharedLock: null, isLeaving: false };
  const retake = async (): Promise<void> => {
    const lost = lease.sharedLock;
    while (!lease.isLeaving && lease.sharedLock === lost) {
      const found = await findServer(cluster.folder, cluster.owner).catch(() => null);
      const known = found?.isReady ? announce(cluster.folder, found.pid) : null;
      if (found?.isReady && (known || !presence)) {
        lease.sharedLock = (await takeSharedLock(cluster, found, known, onLost).catch(() => null)) ?? lost;
      }
      if (lease.sharedLock === lost) await pause(RETAKE_MS);
    }
    // Ended only now, because the supervisor stops a server without a presence.
    if (lease.sharedLock !== lost) await lost?.end();
    if (lease.isLeaving) await lease.sharedLock?.end();
  };
  const onLost = (): void => {
    if (!lease.isLeaving) void retake();
  };
  lease.sharedLock = await takeSharedLock(cluster, server, presence, onLost);
  return lease.sharedLock && lease;
};

/** Tells a server to stop at once, without waiting for its clients. Its supervisor may have stopped it meanwhile. */
const stopServer = (pid: number): void => {
  try {
    process.kill(pid, "SIGINT");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
};

/** Gives up the lease. When no other process uses the server, stops it and waits for its end. */
export const leave = async (lease: Lease, { folder, owner }: Cluster): Promise<void> => {
  lease.isLeaving = true;
  const { sharedLock } = lease;
  if (!sharedLock) return;
  const { client } = sharedLock;
  const isLast = async (): Promise<boolean> => {
    await client`select pg_advisory_unlock_shared(${LEASE})`;
    const [row] = await client<{ last: boolean }[]>`select pg_try_advisory_lock(${LEASE}) as last`;
    return row?.last === true;
  };
  // A server that has ended or does not respond is not stopped.
  const mustStop = await Promise.race([isLast().catch(() => false), pause(LEAVE_DEADLINE_MS).then(() => false)]);
  const server = mustStop ? await findServer(folder, owner) : null;
  try {
    if (!server) return;
    stopServer(server.pid);
    const deadline = Date.now() + STOP_DEADLINE_MS;
    // Wait for the process, not for its file, which is removed a moment earlier.
    while (await isClusterServer(server.pid, folder, owner)) {
      if (Date.now() > deadline) throw new Error(`The embedded PostgreSQL (process ${server.pid}) does not stop.`);
      await pause(POLL_MS);
    }
  } finally {
    // Closed only now. Earlier, another process could get the lock and join a server that is stopping.
    await sharedLock.end();
  }
  const tidyDeadline = Date.now() + TIDY_MS;
  while (isSupervised(folder, server.pid) && Date.now() < tidyDeadline) await pause(POLL_MS);
};
