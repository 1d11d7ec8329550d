/**
 * Whether the nodes can connect to each other. Citus forwards a statement as the role that sent it, so each role of the
 * service must be able to log in at every node. Requests need this while a shard moves. The commands of the owner do
 * not need it.
 */
import { databaseFailure } from "../connection/errors.ts";
import type { Db } from "../connection/pool.ts";
import { functionsInShard } from "./shard.ts";

/** The role of this connection, and the roles with the rights of the service. */
const SELECT_ROLES = `
  select current_user::text as role
  union
  select rolname from pg_namespace cross join aclexplode(nspacl) join pg_roles on pg_roles.oid = grantee
  where nspname = '${functionsInShard(0).name}' and privilege_type = 'USAGE'`;

/** Tries connections as a role from each node to each node. The role is set before the select list is evaluated. */
const SELECT_CONNECTIONS = `
  select format('%s:%s', (way).from_nodename, (way).from_nodeport) as "from",
    format('%s:%s', (way).to_nodename, (way).to_nodeport) as "to", (way).result is true as success
  from (select citus_check_cluster_node_health() as way from (select set_config('role', $1, true) offset 0) as_role offset 0) ways`;

/** Tries connections as a role from each node to itself, by the name that a move uses. */
const LOCAL = `select current_setting(''citus.local_hostname'') || '':'' || current_setting(''port'') ||
  case when citus_check_connection_to_node(current_setting(''citus.local_hostname''), current_setting(''port'')::integer) then '''' else '' fails'' end`;
const SELECT_LOCAL = `
  select format('%s:%s', nodename, nodeport) as "from", coalesce(regexp_replace((way).result, ' fails$', ''), 'itself') as "to",
    (way).success and (way).result !~ ' fails$' as success
  from (
    select run_command_on_all_nodes('${LOCAL}', give_warning_for_connection_errors => true) as way
    from (select set_config('role', $1, true) offset 0) as_role offset 0
  ) ways
  join pg_dist_node on nodeid = (way).nodeid`;

type Way = { from: string; to: string; success: boolean };

const problemsOf = async (coordinator: Db, role: string): Promise<{ place: string; problem: string }[]> => {
  const ways = await coordinator.run<Way>(SELECT_CONNECTIONS, [role]);
  const failed = ways.filter(({ success }) => !success);
  // Without this, the query on each node would use a failing connection.
  if (failed.length === 0)
    failed.push(...(await coordinator.run<Way>(SELECT_LOCAL, [role])).filter(({ success }) => !success));
  return [...new Set(failed.map(({ from }) => from))].map((from) => {
    const to = failed.flatMap((way) => (way.from === from ? [way.to] : [])).join(", ");
    return { place: `node ${from}`, problem: `it cannot connect as the role ${role} to ${to}` };
  });
};

/**
 * The problems of the connections between nodes that all respond. Tries each connection as the roles of the service, if
 * this role may use them.
 */
export const verifyConnections = async (coordinator: Db): Promise<{ place: string; problem: string }[]> => {
  const found: { place: string; problem: string }[] = [];
  for (const { role } of await coordinator.run<{ role: string }>(SELECT_ROLES, [])) {
    try {
      found.push(...(await problemsOf(coordinator, role)));
    } catch (error) {
      if (databaseFailure(error) !== "not_executed") throw error;
      const problem = `connections as the role ${role} were not tried: run verify as a superuser`;
      found.push({ place: "coordinator", problem });
    }
  }
  return found;
};
