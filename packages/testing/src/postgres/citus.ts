/**
 * A coordinator and two workers of Citus, for the tests of shards. CITUS_BIN is the folder of a PostgreSQL with Citus (its `bin/postgres`):
 * without it, these tests are skipped. With TEST_SHARD as well, the tests of `packages/db` run on shards of it.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { freePorts } from "../network/ports.ts";
import { removeAtEnd, temporaryFolder } from "../temporary-folder.ts";
import { client, withDatabase } from "./client.ts";
import { openByTcp } from "./embedded.ts";

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

/** Makes the database of `coordinator` the one of an installation with these other nodes. */
const joinNodes = async (coordinator: string, workers: readonly string[]): Promise<void> => {
  const admin = client(coordinator);
  await admin`select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator).port}::integer)`;
  for (const worker of workers) await admin`select citus_add_node('127.0.0.1', ${new URL(worker).port}::integer)`;
  await admin.end();
};

/** A server of Citus, by the URL of its database `postgres`. */
export type CitusNode = { url: string; pid: number };
export type Citus = {
  coordinator: string;
  nodes: [CitusNode, CitusNode, CitusNode];
  /** Another database on all three. Returns its URL at the coordinator. */
  database(name: string): Promise<string>;
};

/** Starts the three servers, the coordinator first. They end with this process. */
export const startNodes = async (binaries: string): Promise<Citus> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const password = randomBytes(12).toString("hex");
  const nodes = await Promise.all(
    (await freePorts(3)).map(async (port, at): Promise<CitusNode> => {
      const directory = join(folder, `node-${at}`);
      const opened = await openByTcp(directory, { port, settings: SETTINGS, binaries });
      const admin = client(opened.url);
      await admin.unsafe(`alter role postgres password '${password}'`);
      await admin.end();
      const url = Object.assign(new URL(opened.url), { password }).href;
      await addExtension(url);
      return { url, pid: await postmasterOf(url) };
    }),
  );
  const urls = nodes.map(({ url }) => url);
  const [coordinator = "", ...workers] = urls;
  await joinNodes(coordinator, workers);
  const database = async (name: string): Promise<string> => {
    const own = urls.map((url) => withDatabase(url, name));
    for (const url of urls) {
      const admin = client(url);
      await admin.unsafe(`create database ${name} template template0`);
      await admin.end();
    }
    for (const url of own) await addExtension(url);
    await joinNodes(own[0] as string, own.slice(1));
    return own[0] as string;
  };
  return { coordinator, nodes: nodes as Citus["nodes"], database };
};

/** The process of a server on this machine. */
const postmasterOf = async (url: string): Promise<number> => {
  const admin = client(url);
  const [row] = await admin<{ directory: string }[]>`select current_setting('data_directory') as directory`;
  await admin.end();
  return Number((await Bun.file(join(row?.directory ?? "", "postmaster.pid")).text()).split("\n")[0]);
};

/** Starts the three servers, and returns the URL of the coordinator. */
export const startCitus = async (binaries: string): Promise<string> => (await startNodes(binaries)).coordinator;
