/**
 * Gives up shards whose node is lost. Until then, no migration, move or new function is possible, because each needs
 * all nodes.
 */
import type postgres from "postgres";
import { grantInShard, rolesIn } from "../grant.ts";
import { type LockOptions, withLock } from "../migrate.ts";
import { migrateShard } from "./migrate-shard.ts";
import { type NodeView, nodesOfShards, viewsOfNodes } from "./placement.ts";
import { shardSchema } from "./shard.ts";

/** The text that an operator enters to give up shards. */
export const abandonPassphrase = (shards: readonly number[]): string => `abandon ${shards.join(" ")}`;

/**
 * The nodes that are lost with the shards. Throws when one of them responds and has a table of these shards, or when a
 * lost node has other shards too, because Citus can only forget a whole node.
 */
const lostNodes = (
  shards: readonly number[],
  places: ReadonlyMap<number, string>,
  views: readonly NodeView[],
): string[] => {
  const viewOf = (node: string | undefined) => views.find((one) => one.node === node)?.view ?? null;
  for (const shard of shards) {
    const node = places.get(shard);
    if (node === undefined) throw new Error(`No such shard: ${shard}.`);
    if (viewOf(node)?.tables.includes(shard)) {
      throw new Error(`Shard ${shard} is not lost: ${node} responds, and has it. Move it instead.`);
    }
  }
  const nodes = [...new Set(shards.map((shard) => places.get(shard) as string))].filter(
    (node) => viewOf(node) === null,
  );
  const also = [...places].filter(([shard, node]) => nodes.includes(node) && !shards.includes(shard));
  if (also.length > 0) {
    const all = [...shards, ...also.map(([shard]) => shard)].sort((a, b) => a - b);
    throw new Error(`All shards of a lost node must be given up together: ${all.join(", ")}.`);
  }
  return nodes;
};

const partsOf = (node: string): [host: string, port: number] => {
  const at = node.lastIndexOf(":");
  return [node.slice(0, at), Number(node.slice(at + 1))];
};

/**
 * Changes the place of the shards to a responding node, on all responding nodes. That node does not have their tables.
 */
const placeAt = async (client: postgres.Sql, shards: readonly number[], node: string): Promise<void> => {
  const [host, port] = partsOf(node);
  const [row] = await client<{ text: string }[]>`
    select format('update pg_dist_placement set groupid = %s where shardid = any (%L)',
      (select groupid from pg_dist_node where nodename = ${host} and nodeport = ${port}::integer),
      (select array_agg(shardid) from pg_dist_shard join pg_class on oid = logicalrelid
        where relnamespace::regnamespace::text = any (${shards.map(shardSchema)}))) as text`;
  await client`select run_command_on_all_nodes(${row?.text ?? ""}, give_warning_for_connection_errors => true)`;
};

/** Drops the metadata of a shard on all nodes, and creates the shard again, without rows. */
const createAgain = async (client: postgres.Sql, shard: number): Promise<void> => {
  const roles = await rolesIn(client, shard);
  const schema = shardSchema(shard);
  const functions = await client<{ name: string }[]>`
    select nspname as name from pg_namespace where nspname ~ ${`^rta_[0-9a-f]{12}_${schema}$`}`;
  await client.unsafe(`drop schema if exists ${schema} cascade`);
  for (const { name } of functions) await client.unsafe(`drop schema ${name} cascade`);
  await migrateShard(client, shard);
  await grantInShard(client, shard, roles);
};

/**
 * Gives up shards whose node does not respond. All their rows are lost permanently. Empty shards with the same numbers
 * replace them at another node, and Citus forgets the lost node. Needs a superuser. An interrupted run can be repeated.
 */
export const abandonShards = (url: string, shards: readonly number[], options: LockOptions = {}): Promise<void> =>
  withLock(url, options, async (client) => {
    await client.unsafe("set statement_timeout = 0; set citus.enable_schema_based_sharding = off");
    const views = await viewsOfNodes((text) => client.unsafe(text));
    const lost = lostNodes(shards, await nodesOfShards((text) => client.unsafe(text)), views);
    const able = await client<{ node: string }[]>`
      select format('%s:%s', nodename, nodeport) as node from pg_dist_node where shouldhaveshards order by 1`;
    const target = able.find(({ node }) => views.some((one) => one.node === node && one.view !== null));
    if (!target) throw new Error("No other node responds. Add one first (citus_add_node).");
    await placeAt(client, shards, target.node);
    for (const node of lost) {
      const [host, port] = partsOf(node);
      await client`select citus_remove_node(${host}, ${port}::integer)`;
    }
    for (const shard of shards) await createAgain(client, shard);
  });
