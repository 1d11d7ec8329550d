/** Commands of an operator for the shards of an installation: list and move them. Citus does the work. */

import type postgres from "postgres";
import type { Db } from "../connection/pool.ts";
import { type LockOptions, withLock } from "../migrate.ts";
import { statesOfNodes } from "./node-state.ts";
import { readPlacement, requireAgreement } from "./placement.ts";
import { shardSchema } from "./shard.ts";

/** `rows`: their approximate number. `bytes`: with indexes. Both are null when the node does not respond. */
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

/** The remainders of an interrupted move are removed, because the next move would fail on them. */
const CLEAN = "call citus_cleanup_orphaned_resources()";
/** A move can take hours, so the time limits of the role and of the database do not apply to it. */
const NO_LIMITS = "set statement_timeout = 0; set lock_timeout = 0";

/**
 * Removes nothing before the nodes agree, because a coordinator that was restored from before a move treats the live
 * tables as remainders.
 */
const prepareMove = async (client: postgres.Sql): Promise<void> => {
  await client.unsafe(NO_LIMITS);
  await requireAgreement((text) => client.unsafe(text));
  await client.unsafe(CLEAN);
};

/**
 * Moves a shard to the node `host:port`, unless the node already has it. Writes to the shard wait while the move ends.
 * Resolves when the node has the shard, which can take hours. No other process migrates or moves during this time.
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
    // The journal of migrations has no primary key, and does not change during the move.
    await client`select citus_schema_move(${shardSchema(shard)}::regnamespace, ${host}, ${port}::integer, 'force_logical')`;
  });

/** Moves shards until all nodes have about the same number of shards, or the same size. Returns how many were moved. */
export const rebalanceShards = (url: string, options: LockOptions = {}): Promise<number> =>
  withLock(url, options, async (client) => {
    await prepareMove(client);
    const plan = await client`select distinct sourcename, sourceport, targetname, targetport, table_name::text
      from get_rebalance_table_shards_plan() where table_name::text like '%.tenants'`;
    await client`select rebalance_table_shards(shard_transfer_mode => 'force_logical')`;
    return plan.length;
  });
