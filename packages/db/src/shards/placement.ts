/** Where the shards are: on which node of Citus. */
import type { Host } from "../connection/server/hosts.ts";

type RunQuery = <Row extends object>(text: string) => PromiseLike<readonly Row[]>;

const SELECT_PLACEMENTS = `
  select substr(relation.relnamespace::regnamespace::text, 2)::integer as shard, node.nodename as host, node.nodeport as port,
    node.groupid = 0 as "isCoordinator"
  from pg_class relation
  join pg_dist_shard on pg_dist_shard.logicalrelid = relation.oid
  join pg_dist_placement using (shardid)
  join pg_dist_node node using (groupid)
  where node.noderole = 'primary' and relation.relname = 'tenants' and relation.relnamespace::regnamespace::text ~ '^s[0-9]{2,4}$'
  order by 1`;

/** The coordinator may know itself by an address that others do not: who has its URL uses that. */
export type Node = Host & { isCoordinator: boolean };

/** The node of each shard, by its number. Every node knows them all. */
export const placementOf = async (query: RunQuery): Promise<Map<number, Node>> => {
  const rows = await query<Node & { shard: number }>(SELECT_PLACEMENTS);
  return new Map(rows.map(({ shard, ...node }) => [shard, node]));
};
