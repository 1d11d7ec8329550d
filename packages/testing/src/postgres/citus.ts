/**
 * A coordinator and two workers of Citus, for the tests of shards. CITUS_BIN is the folder of a PostgreSQL with Citus
 * (with `bin/postgres`). Without it, these tests are skipped. If TEST_SHARD is also set, the tests of `packages/db` run
 * on its shards.
 */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { freePorts } from "../network/ports.ts";
import { removeAtEnd, temporaryFolder } from "../temporary-folder.ts";
import { until } from "../until.ts";
import { client, withDatabase } from "./client.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

export const CITUS_BIN = process.env["CITUS_BIN"];

const SETTINGS = {
  shared_preload_libraries: "citus",
  wal_level: "logical",
  max_connections: "150",
  max_replication_slots: "20",
  max_wal_senders: "20",
  fsync: "off",
  // The last phase of a move waits for a report of the new node.
  wal_receiver_status_interval: "1s",
  "citus.node_conninfo": "sslmode=disable",
  "citus.enable_statistics_collection": "off",
};

/** Prepares a database of a node. */
const addExtension = async (url: string): Promise<void> => {
  const admin = client(url);
  await admin.unsafe("create extension citus");
  await admin`insert into pg_dist_authinfo values (0, 'postgres', ${`password=${new URL(url).password}`})`;
  await admin.end();
};

/** Makes the database of `coordinator` the coordinator of an installation with these other nodes. */
const joinNodes = async (coordinator: string, workers: readonly string[]): Promise<void> => {
  const admin = client(coordinator);
  await admin`select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator).port}::integer)`;
  for (const worker of workers) await admin`select citus_add_node('127.0.0.1', ${new URL(worker).port}::integer)`;
  await admin.end();
};

/** A server of Citus. The URL is that of its database `postgres`. */
export type CitusNode = { url: string; server: Cluster };
export type Citus = {
  coordinator: string;
  nodes: [CitusNode, CitusNode, CitusNode];
  /** Creates another database on all three servers. Returns its URL at the coordinator. */
  database(name: string): Promise<string>;
};

/** The nodes connect to each other with the same password. */
const startNode = async (data: string, password: string, options: ClusterOptions): Promise<CitusNode> => {
  await mkdir(data, { mode: 0o755 });
  await writeFile(join(data, "password"), password, { mode: 0o600 });
  const server = await startCluster({ ...options, data, settings: { ...SETTINGS, ...options.settings } });
  const url = server.url("postgres");
  await addExtension(url);
  return { url, server };
};

/** Starts the three servers, the coordinator first. They end with this process. `settingsOf`: further settings of the server at a port. */
export const startNodes = async (
  binaries: string,
  settingsOf: (port: number) => Record<string, string> = () => ({}),
): Promise<Citus> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const password = randomBytes(12).toString("hex");
  const nodes = await Promise.all(
    (await freePorts(3)).map((port) =>
      startNode(join(folder, `node-${port}`), password, { port, binaries, settings: settingsOf(port) }),
    ),
  );
  const urls = nodes.map(({ url }) => url);
  const [coordinator = "", ...workers] = urls;
  await joinNodes(coordinator, workers);
  return { coordinator, nodes: nodes as Citus["nodes"], database: (name) => newDatabase(coordinator, name) };
};

/**
 * Starts a coordinator and a separate server for the node of all shards, which is durable as in production. They end
 * with this process.
 */
export const startShardNode = async (
  binaries: string,
  options: ClusterOptions,
): Promise<{ coordinator: CitusNode; node: CitusNode }> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const password = randomBytes(12).toString("hex");
  const settings = { fsync: "on", ...options.settings };
  const [coordinator, node] = await Promise.all([
    startNode(join(folder, "coordinator"), password, { binaries }),
    startNode(options.data ?? join(folder, "node"), password, { binaries, ...options, settings }),
  ]);
  await joinNodes(coordinator.url, [node.url]);
  return { coordinator, node };
};

/** Runs `text` on each node of an installation. Returns the URLs, the coordinator's first. */
const onEachNode = async (coordinator: string, text: string): Promise<string[]> => {
  const admin = client(coordinator);
  const nodes = await admin<{ port: number }[]>`select nodeport as port from pg_dist_node order by groupid`;
  await admin.end();
  const urls = nodes.map(({ port }) => Object.assign(new URL(coordinator), { port }).href);
  for (const url of urls) {
    const own = client(url);
    await own.unsafe(text);
    await own.end();
  }
  return urls;
};

/** Creates another database on all nodes of an installation. Returns its URL at the coordinator. */
export const newDatabase = async (coordinator: string, name: string): Promise<string> => {
  const urls = await onEachNode(coordinator, `create database ${name} template template0`);
  const [first = "", ...others] = urls.map((url) => withDatabase(url, name));
  for (const url of [first, ...others]) await addExtension(url);
  await joinNodes(first, others);
  return first;
};
/** Drops a database on all nodes, also when the maintenance process of Citus connects to it again meanwhile. */
export const dropDatabase = (coordinator: string, name: string): Promise<unknown> =>
  until(() =>
    onEachNode(coordinator, `drop database if exists ${name} with (force)`).catch((error: unknown) => {
      if (error instanceof postgres.PostgresError && error.code === "55006") return false;
      throw error;
    }),
  );

/** Starts the three servers, and returns the URL of the coordinator. */
export const startCitus = async (binaries: string): Promise<string> => (await startNodes(binaries)).coordinator;
