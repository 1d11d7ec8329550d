/**
 * The state that the nodes of Citus report about themselves and their shards. The coordinator sends one statement to
 * all nodes.
 */
import type { Db } from "../connection/pool.ts";
import { DIGEST } from "../functions/schema.ts";

export type NodeState = {
  node: string;
  /** Whether Citus updates the node. */
  isActive: boolean;
  /** Null when the node does not respond. */
  state: {
    /** The `DIGEST` of the functions, by our schema. */
    functions: Record<string, string>;
    /**
     * The enabled triggers, as `table.trigger`, and the approximate number of rows, by the schema of each shard of the
     * node.
     */
    triggers: Record<string, string[]>;
    rows: Record<string, number>;
    isolation: string;
    /** The seconds within which the node reports as a receiver of changes. */
    reportSeconds: number;
    /** The number of prepared transactions that are older than 5 minutes. */
    prepared: number;
  } | null;
};

/** Schemas, tables and triggers of shards. The names of the parts on a node end with a number. */
const STATE = `
  select json_build_object(
    'functions', (
      select coalesce(json_object_agg(nspname, functions), '{}') from (
        select nspname, ${DIGEST} as functions from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
        where nspname ~ '^rta_' group by nspname
      ) counted
    ),
    'triggers', (
      select coalesce(json_object_agg(nspname, names), '{}') from (
        select nspname,
          json_agg(regexp_replace(relname, '_[0-9]+$', '') || '.' || regexp_replace(tgname, '_[0-9]+$', '')) as names
        from pg_trigger
        join pg_class on pg_class.oid = tgrelid
        join pg_namespace on pg_namespace.oid = relnamespace
        where nspname ~ '^s[0-9]{2,4}$' and relname ~ '_[0-9]+$' and not tgisinternal and tgenabled in ('O', 'A')
        group by nspname
      ) enabled
    ),
    'rows', (
      select coalesce(json_object_agg(schemaname, rows), '{}') from (
        select schemaname, sum(n_live_tup) as rows from pg_stat_user_tables
        where schemaname ~ '^s[0-9]{2,4}$' and relname ~ '_[0-9]+$' group by schemaname
      ) counted
    ),
    'isolation', current_setting('default_transaction_isolation'),
    'reportSeconds', (select setting::integer from pg_settings where name = 'wal_receiver_status_interval'),
    'prepared', (select count(*) from pg_prepared_xacts where prepared < now() - interval '5 minutes')
  )`;

type Row = { node: string; isActive: boolean; success: boolean; result: string };

export const statesOfNodes = async (coordinator: Db): Promise<NodeState[]> => {
  const rows = await coordinator.run<Row>(
    `select format('%s:%s', nodename, nodeport) as node, isactive and metadatasynced as "isActive", success, result
     from run_command_on_all_nodes('${STATE.replaceAll("'", "''")}', give_warning_for_connection_errors => true)
     join pg_dist_node using (nodeid) order by 1`,
    [],
  );
  return rows.map(({ node, isActive, success, result }) => ({
    node,
    isActive,
    state: success ? JSON.parse(result) : null,
  }));
};
