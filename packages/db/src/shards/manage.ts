/** What an operator does with the shards of an installation: sees them, and moves them. Citus does the work. */

import type postgres from "postgres";
import type { Db } from "../connection/pool.ts";
import { type LockOptions, withLock } from "../migrate.ts";
import { statesOfNodes } from "./node-state.ts";
import { readPlacement, requireAgreement } from "./placement.ts";
import { shardSchema } from "./shard.ts";

/** `rows`: about how many. `bytes`: with indexes. Both are null when the node does not respond. */
export type ShardState = { shard: number; node: string; rows: number | null; bytes: number | null };

/** The state of each shard. */
export const listShards = async (coordinator: Db, count: number): Promise<ShardState[]> => {
  const placement = await readPlacement((text) => coordinator.run(text, []));
  const nodes = new Map((await statesOfNodes(coordinator)).map(({ node, state }) => [node, state]));
  const sizes = await coordinator.run<{ schema: string; bytes: string | null }>(
    `select split_part(table_name::text, '.', 1) as schema, sum(shard_size) as bytes from citus_shards group by 1`,
    [],
  );
  return Array.from({ length: count }, (_, shard) => {
    const [place, schema] = [placement.get(shard), shardSchema(shard)];
    const node = place ? `${place.host}:${place.port}` : "none";
    const bytes = sizes.find((size) => size.schema === schema)?.bytes ?? null;
    return { shard, node, rows: nodes.get(node)?.rows[schema] ?? null, bytes: bytes === null ? null : Number(bytes) };
  });
};

/** What a move that was interrupted has left behind would refuse the next one. */
const CLEAN = "call citus_cleanup_orphaned_resources()";
/** A move can take hours: the limits of the role and of the database do not apply to it. */
const NO_LIMITS = "set statement_timeout = 0; set lock_timeout = 0";

/** Nothing is removed before the nodes agree: a coordinator from before a move takes the live tables for what was left. */
const prepareMove = async (client: postgres.Sql): Promise<void> => {
  await client.unsafe(NO_LIMITS);
  await requireAgreement((text) => client.unsafe(text));
  await client.unsafe(CLEAN);
};

/**
 * Moves a shard to the node `host:port`, unless it is there. Writes to it wait while the move ends. Resolves when it is there, which can take hours. No other
 * process migrates or moves meanwhile.
 */
export const moveShard = (
  url: string,
  shard: number,
  { host, port }: { host: string; port: number },
  options: LockOptions = {},
): Promise<void> =>
  withLock(url, options, async (client) => {
    await prepareMove(client);
    const place = (await readPlacement((text) => client.unsafe(text))).get(shard);
    if (place?.host === host && place.port === port) return;
    // The journal of migrations has no primary key, and does not change meanwhile.
    await client`select citus_schema_move(${shardSchema(shard)}::regnamespace, ${host}, ${port}::integer, 'force_logical')`;
  });

/** Moves shards until the nodes have about equally many, or equally large ones. Returns how many were moved. */
export const rebalanceShards = (url: string, options: LockOptions = {}): Promise<number> =>
  withLock(url, options, async (client) => {
    await prepareMove(client);
    const plan = await client`select distinct sourcename, sourceport, targetname, targetport, table_name::text
      from get_rebalance_table_shards_plan() where table_name::text like '%.tenants'`;
    await client`select rebalance_table_shards(shard_transfer_mode => 'force_logical')`;
    return plan.length;
  });
