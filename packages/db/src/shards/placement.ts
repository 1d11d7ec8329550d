/** The places of the shards: the Citus node of each, and whether all nodes agree. */
import type { Host } from "../connection/server/hosts.ts";

export type RunQuery = <Row extends object>(text: string) => PromiseLike<readonly Row[]>;

const SELECT_PLACEMENTS = `
  select substr(relation.relnamespace::regnamespace::text, 2)::integer as shard, node.nodename as host, node.nodeport as port,
    node.groupid = 0 as "isCoordinator"
  from pg_class relation
  join pg_dist_shard on pg_dist_shard.logicalrelid = relation.oid
  join pg_dist_placement using (shardid)
  join pg_dist_node node using (groupid)
  where node.noderole = 'primary' and relation.relname = 'tenants' and relation.relnamespace::regnamespace::text ~ '^s[0-9]{2,4}$'
  order by 1`;

/** The coordinator may know itself by an address that others do not know. A process with its URL uses the URL. */
export type Node = Host & { isCoordinator: boolean };

/** The node of each shard, by its number. Every node knows all of them. */
export const readPlacement = async (query: RunQuery): Promise<Map<number, Node>> => {
  const rows = await query<Node & { shard: number }>(SELECT_PLACEMENTS);
  return new Map(rows.map(({ shard, ...node }) => [shard, node]));
};

/** The report of a node: the places of the shards that it knows, and the shards whose tables it has. */
const SELECT_VIEW = `
  select json_build_object(
    'places', (
      select coalesce(json_object_agg(shard, host || ':' || port), '{}') from (${SELECT_PLACEMENTS}) known
    ),
    'tables', (
      select coalesce(json_agg(distinct substr(relnamespace::regnamespace::text, 2)::integer), '[]') from pg_class
      where relkind = 'r' and relname ~ '^tenants_[0-9]+$' and relnamespace::regnamespace::text ~ '^s[0-9]{2,4}$'
    )
  )`;
/** `places`: the places of the shards, by their number. `tables`: the shards whose tables the node has. */
type View = { places: Record<string, string>; tables: number[] };
/** The report of the node `host:port`; null when it does not respond. */
export type NodeView = { node: string; view: View | null };

/** The report of each node that Citus updates. */
export const viewsOfNodes = async (query: RunQuery): Promise<NodeView[]> => {
  const rows = await query<{ node: string; success: boolean; result: string }>(
    `select format('%s:%s', nodename, nodeport) as node, success, result
     from run_command_on_all_nodes('${SELECT_VIEW.replaceAll("'", "''")}', give_warning_for_connection_errors => true)
     join pg_dist_node using (nodeid) where isactive and metadatasynced order by 1`,
  );
  return rows.map(({ node, success, result }) => ({ node, view: success ? JSON.parse(result) : null }));
};

/** The places of the shards, as `host:port`, by their number. */
export const nodesOfShards = async (query: RunQuery): Promise<Map<number, string>> =>
  new Map([...(await readPlacement(query))].map(([shard, { host, port }]) => [shard, `${host}:${port}`]));

/** The instruction for nodes that disagree. */
export const RESTORED =
  'A server was restored from before a move, or from before shards were added. Do not move, migrate or clean up: tables that Citus treats as remainders can be the only copy. Follow "Restore" in docs/scaling.md.';

/**
 * The differences between the nodes and the coordinator about the places of the shards, one sentence each. Nodes that
 * do not respond are left out.
 */
export const disagreements = (known: ReadonlyMap<number, string>, views: readonly NodeView[]): string[] =>
  views.flatMap(({ node, view }) => {
    if (view === null) return [];
    const { places, tables } = view;
    const shards = new Set([...known.keys(), ...Object.keys(places).map(Number)]);
    return [...shards]
      .sort((a, b) => a - b)
      .flatMap((shard) => {
        const [own, other] = [known.get(shard), places[shard]];
        if (own !== other) {
          return [`The coordinator has shard ${shard} at ${own ?? "no node"}, and ${node} at ${other ?? "no node"}.`];
        }
        return own === node && !tables.includes(shard) ? [`${node} does not have the tables of shard ${shard}.`] : [];
      });
  });

/**
 * The number of repeated queries while nodes disagree, and the pause before each. At the end of a move, the nodes
 * change one after another.
 */
const ATTEMPTS = 5;
const PAUSE_MS = 500;

/**
 * Throws when the nodes still disagree about the places of the shards after all attempts. Returns the nodes that do not
 * respond, as `host:port`.
 */
export const requireAgreement = async (query: RunQuery): Promise<string[]> => {
  for (let attempt = 1; ; attempt++) {
    const views = await viewsOfNodes(query);
    const found = disagreements(await nodesOfShards(query), views);
    if (found.length === 0) return views.filter(({ view }) => view === null).map(({ node }) => node);
    if (attempt === ATTEMPTS) throw new Error([...found, RESTORED].join(" "));
    await Bun.sleep(PAUSE_MS);
  }
};
