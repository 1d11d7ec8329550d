/** The server of a fault: a PostgreSQL, or with TEST_SHARD the node of a shard with its own coordinator. */
import { randomBytes } from "node:crypto";
import { shardSchema } from "@realtime-avatar/db/shards/shard";
import { migrateShards } from "@realtime-avatar/db/shards/split";
import { client, IS_ONE_DATABASE } from "@realtime-avatar/testing/database";
import { CITUS_BIN, dropDatabase, newDatabase, startShardNode } from "@realtime-avatar/testing/postgres/citus";
import { withDatabase } from "@realtime-avatar/testing/postgres/client";
import { type Cluster, type ClusterOptions, startCluster } from "@realtime-avatar/testing/postgres/cluster";
import { shardClient } from "@realtime-avatar/testing/postgres/shard";

/** The coordinator of each database of a shard, by the name of the database. */
const coordinators = new Map<string, Cluster>();
const nameOf = (url: string): string => /\/(\w+)(?:\?|$)/.exec(url)?.[1] ?? "";
/** The coordinator of a URL from `newDatabase`; null for a single database. */
export const findCoordinator = (url: string): Cluster | null => coordinators.get(nameOf(url)) ?? null;

if (process.env["TEST_SHARD"] === "coordinator") throw new Error("Faults happen to a node: TEST_SHARD=node");

/** `newDatabase` returns the URL at the node, with the schema of the shard as its search path. */
const startNode = async (options: ClusterOptions): Promise<Cluster> => {
  const { coordinator, node } = await startShardNode(CITUS_BIN ?? "", options);
  return {
    ...node.server,
    newDatabase: async () => {
      const name = `faults_${randomBytes(6).toString("hex")}`;
      await migrateShards(await newDatabase(coordinator.url, name), 1);
      coordinators.set(name, coordinator.server);
      const url = new URL(withDatabase(node.url, name));
      url.searchParams.set("search_path", shardSchema(0));
      return url.href;
    },
    dropDatabase: async (url) => {
      await dropDatabase(coordinator.url, nameOf(url));
    },
    close: async () => {
      await Promise.all([coordinator, node].map(({ server }) => server.close()));
    },
  };
};

/** Starts a server that can be stopped, killed and frozen. */
export const startServer = (options: ClusterOptions = {}): Promise<Cluster> =>
  IS_ONE_DATABASE ? startCluster(options) : startNode(options);

/**
 * The variables with which a service connects to a database. For a shard, the host and port of the URL are its node's.
 */
export const serverVariables = async (url: string): Promise<Record<string, string>> => {
  const coordinator = findCoordinator(url);
  if (coordinator === null) return { DATABASE_URL: url };
  const own = coordinator.url(nameOf(url));
  const { hostname, port } = new URL(url);
  const admin = client(own);
  await admin`
    select citus_update_node(nodeid, ${hostname}, ${port}::integer) from pg_dist_node
    where groupid <> 0 and (nodename, nodeport) <> (${hostname}, ${port}::integer)`;
  await admin.end();
  return { DATABASE_URL: own };
};

/** The end of the title of a fault that is impossible for a shard; empty without TEST_SHARD. */
export const notOnCitus = (reason: string): string => (IS_ONE_DATABASE ? "" : ` (not on Citus: ${reason})`);

/** A client that may change the tables of a database. */
export const ownerClient = (url: string): ReturnType<typeof client> =>
  shardClient(url, 1, {}, findCoordinator(url)?.url(nameOf(url)));
