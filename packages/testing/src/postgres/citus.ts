/**
 * A coordinator and two workers of Citus, for the tests of shards. CITUS_BIN is the folder of a PostgreSQL with Citus (its `bin/postgres`):
 * without it, these tests are skipped. With TEST_SHARD as well, the tests of `packages/db` run on shards of it.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { freePorts } from "../network/ports.ts";
import { removeAtEnd, temporaryFolder } from "../temporary-folder.ts";
import { client } from "./client.ts";
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

/** Starts the three servers, and returns the URL of the coordinator. They end with this process. */
export const startCitus = async (binaries: string): Promise<string> => {
  const folder = await temporaryFolder();
  removeAtEnd(folder);
  const password = randomBytes(12).toString("hex");
  const [coordinator = "", ...workers] = await Promise.all(
    (await freePorts(3)).map(async (port, at) => {
      const opened = await openByTcp(join(folder, `node-${at}`), { port, settings: SETTINGS, binaries });
      const admin = client(opened.url);
      await admin.unsafe("create extension citus");
      await admin.unsafe(`alter role postgres password '${password}'`);
      await admin`insert into pg_dist_authinfo values (0, 'postgres', ${`password=${password}`})`;
      await admin.end();
      return Object.assign(new URL(opened.url), { password }).href;
    }),
  );
  const admin = client(coordinator);
  await admin`select citus_set_coordinator_host('127.0.0.1', ${new URL(coordinator).port}::integer)`;
  for (const worker of workers) await admin`select citus_add_node('127.0.0.1', ${new URL(worker).port}::integer)`;
  await admin.end();
  return coordinator;
};
