/**
 * A separate PostgreSQL, durable as in production, that can be stopped, killed, frozen and started again on the same
 * port.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { EmbeddedDatabase } from "@realtime-avatar/db/connection/embedded";
import { migrate } from "@realtime-avatar/db/migrate";
import { isAlive } from "../alive.ts";
import { freePort } from "../network/ports.ts";
import { temporaryFolder } from "../temporary-folder.ts";
import { until } from "../until.ts";
import { client } from "./client.ts";
import { openByTcp } from "./embedded.ts";

const childrenOf = async (pid: number): Promise<number[]> => {
  const children = await Bun.$`ps -o pid= --ppid ${pid}`.quiet().nothrow().text();
  return children.split("\n").map(Number).filter(Boolean);
};

export type Cluster = {
  port: number;
  /** The path of `data` of `openEmbedded`. */
  data: string;
  /** The URL of a new, migrated database. */
  newDatabase(): Promise<string>;
  /** Drops a database, because a server that recovers from a crash flushes every file of every database. */
  dropDatabase(url: string): Promise<void>;
  /** The URL of another database of the cluster. */
  url(database: string): string;
  start(): Promise<void>;
  /** The process of the server. */
  pid(): Promise<number>;
  /** Whether the server runs. A server that cannot write its log ends. */
  isRunning(): Promise<boolean>;
  /** Like `pg_ctl stop -m immediate`: the processes of the server end without finishing their work. */
  stopAtOnce(): Promise<void>;
  /** `kill -9` of the server. Waits until its other processes have noticed it and ended, like a new server. */
  kill(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  close(): Promise<void>;
};

export type ClusterOptions = {
  settings?: Record<string, string>;
  /** The path of the data, which may already exist. */
  data?: string;
  port?: number;
  /** PostgreSQL's binaries, if not those from npm. */
  binaries?: string;
};

const running = new Set<Cluster>();
/** A failed test must not leave its servers running. */
export const closeClusters = async (): Promise<void> => {
  for (const cluster of running) await cluster.close();
};

export const startCluster = async (options: ClusterOptions = {}): Promise<Cluster> => {
  const folder = options.data === undefined ? await temporaryFolder() : null;
  const data = options.data ?? join(folder ?? "", "data");
  const port = options.port ?? (await freePort());
  const settings = { max_connections: "60", ...options.settings };
  const { binaries } = options;
  const opened: EmbeddedDatabase[] = [];
  const start = async (): Promise<void> => {
    opened.push(await openByTcp(data, { port, settings, ...(binaries === undefined ? {} : { binaries }) }));
  };
  await start();
  const [first] = opened;
  if (!first) throw new Error("the cluster did not start");
  const pidFile = join(first.directory, "postmaster.pid");
  const postmaster = async (): Promise<number> => Number((await readFile(pidFile, "utf8")).split("\n")[0]);
  const url = (database: string): string => first.url.replace(/\/postgres$/, `/${database}`);
  let frozen: number[] = [];
  let databases = 0;
  const cluster: Cluster = {
    port,
    data,
    url,
    start,
    pid: postmaster,
    newDatabase: async () => {
      databases++;
      const admin = client(url("postgres"));
      await admin.unsafe(`create database faults_${databases} encoding 'UTF8' locale 'C' template template0`);
      await admin.end();
      await migrate(url(`faults_${databases}`));
      return url(`faults_${databases}`);
    },
    dropDatabase: async (dropped) => {
      const admin = client(url("postgres"));
      await admin.unsafe(`drop database ${new URL(dropped).pathname.slice(1)} with (force)`);
      await admin.end();
    },
    isRunning: async () => {
      const pid = await postmaster().catch(() => null);
      return pid !== null && isAlive(pid);
    },
    stopAtOnce: async () => {
      const pid = await postmaster();
      process.kill(pid, "SIGQUIT");
      await until(() => !isAlive(pid), { pollMs: 5 });
    },
    kill: async () => {
      const pid = await postmaster();
      const all = [pid, ...(await childrenOf(pid))];
      process.kill(pid, "SIGKILL");
      await cluster.thaw();
      await until(() => !all.some(isAlive), { pollMs: 5 });
    },
    freeze: async () => {
      const pid = await postmaster();
      process.kill(pid, "SIGSTOP");
      frozen = [pid, ...(await childrenOf(pid))];
      for (const each of frozen) process.kill(each, "SIGSTOP");
    },
    thaw: async () => {
      for (const each of frozen) if (isAlive(each)) process.kill(each, "SIGCONT");
      frozen = [];
    },
    close: async () => {
      for (const each of frozen) if (isAlive(each)) process.kill(each, "SIGCONT");
      running.delete(cluster);
      for (const each of opened) await each.close();
      if (folder) await rm(folder, { recursive: true });
    },
  };
  running.add(cluster);
  return cluster;
};
