/**
 * Verifies the schema of each database: its migrations and functions, and the triggers that protect it. With shards,
 * also verifies the functions and the settings of every node.
 */
import { databaseFailure } from "../connection/errors.ts";
import type { Db } from "../connection/pool.ts";
import type { Databases } from "../databases/databases.ts";
import { functionsDigest } from "../functions/schema.ts";
import { isMigrated, migrations } from "../migrate.ts";
import { verifyConnections } from "./connections.ts";
import { type NodeState, statesOfNodes } from "./node-state.ts";
import { disagreements, nodesOfShards, RESTORED, type RunQuery, readPlacement, viewsOfNodes } from "./placement.ts";
import { functionsInShard, shardSchema } from "./shard.ts";

/** A problem. `place`: a shard, a node, or the database. */
export type Finding = { place: string; problem: string };

/** The triggers that the migrations create, as `table.trigger`. */
const TRIGGERS: readonly string[] = [
  ...new Set(
    migrations().flatMap(({ text }) =>
      [...text.matchAll(/^CREATE TRIGGER (\w+)\s+BEFORE [A-Z ]+? ON "?(\w+)"?/gm)].map(
        ([, name, table]) => `${table}.${name}`,
      ),
    ),
  ),
];

/** The maximum seconds within which a node must report. Writes wait as long at the end of a move. */
const REPORT_SECONDS = 1;

const missingTriggers = (place: string, enabled: readonly string[]): Finding[] =>
  TRIGGERS.filter((name) => !enabled.includes(name)).map((name) => ({
    place,
    problem: `the trigger ${name} is missing or disabled`,
  }));

const placeOf = ({ shard }: Db): string => (shard === null ? "database" : `shard ${shard}`);

const verifyMigrations = async (db: Db): Promise<Finding[]> => {
  const place = placeOf(db);
  try {
    return (await isMigrated(db)) ? [] : [{ place, problem: "migrations are pending, or the role may not use it" }];
  } catch (error) {
    if (databaseFailure(error) === null) throw error;
    return [{ place, problem: "it does not respond" }];
  }
};

const verifyOne = async (db: Db): Promise<Finding[]> => {
  const rows = await db.run<{ name: string }>(
    `select relname || '.' || tgname as name from pg_trigger join pg_class on pg_class.oid = tgrelid
     where relnamespace = 'public'::regnamespace and not tgisinternal and tgenabled in ('O', 'A')`,
    [],
  );
  return missingTriggers(
    placeOf(db),
    rows.map(({ name }) => name),
  );
};

/** The problems of a node with this number of shards. */
export const verifyNode = ({ node: name, isActive, state }: NodeState, count: number): Finding[] => {
  const place = `node ${name}`;
  if (state === null) return [{ place, problem: "it does not respond" }];
  const { functions, isolation, reportSeconds, prepared } = state;
  const findings: Finding[] = [];
  if (!isActive) findings.push({ place, problem: "Citus does not keep it up to date" });
  for (let shard = 0; shard < count; shard++) {
    const { name: schema, create } = functionsInShard(shard);
    const [found, expected] = [functions[schema] ?? "0", functionsDigest(create)];
    if (found === expected) continue;
    const [count, wanted] = [found, expected].map((digest) => digest.split(" ")[0]);
    const difference = count === wanted ? "functions with another text" : `${count} functions, not ${wanted}`;
    findings.push({ place, problem: `${schema} has ${difference}: run \`migrate\`` });
  }
  if (isolation !== "read committed") {
    findings.push({ place, problem: `default_transaction_isolation is ${isolation}; it must be read committed` });
  }
  if (reportSeconds === 0 || reportSeconds > REPORT_SECONDS) {
    const problem = `wal_receiver_status_interval is ${reportSeconds} s: set 1s, or moves keep writes waiting`;
    findings.push({ place, problem });
  }
  if (prepared > 0) findings.push({ place, problem: `${prepared} prepared transactions are older than 5 minutes` });
  return findings;
};

/**
 * The objects that Citus must remove after moves that did not end. Citus also removes the rows of successful moves, a
 * little later.
 */
const SELECT_LEFT = `
  select count(*)::integer as count from pg_dist_cleanup
  where policy_type <> 2 and not exists (select from get_rebalance_progress())`;

/** Checked only as a role that may read the list: by default, a superuser. */
const verifyMoves = async (coordinator: Db): Promise<Finding[]> => {
  const may = await coordinator.run("select 1 where has_table_privilege('pg_dist_cleanup', 'select')", []);
  if (may.length === 0) return [];
  const [row] = await coordinator.run<{ count: number }>(SELECT_LEFT, []);
  const count = row?.count ?? 0;
  const problem = `a move was interrupted and has left ${count} objects: Citus removes them when their nodes respond`;
  return count > 0 ? [{ place: "coordinator", problem }] : [];
};

/**
 * The time limit of a query of all nodes. Citus waits 30 s for a frozen node. After that, `verify` can name the node.
 */
const VERIFY_MS = 60_000;

/** All problems. `server`: the one database, or the coordinator of the shards. */
export const verifySchema = async (databases: Databases, server: Db): Promise<Finding[]> => {
  const all = databases.all();
  const shards = databases.shards();
  if (all.length === 0)
    return [{ place: "database", problem: "the shards are not complete: run `migrate --shards <count>` again" }];
  const found = (await Promise.all(all.map(verifyMigrations))).flat();
  if (shards === null) return found.length > 0 ? found : Promise.all(all.map(verifyOne)).then((each) => each.flat());
  const asking = server.within(VERIFY_MS);
  const nodes = await statesOfNodes(asking);
  const query: RunQuery = (text) => asking.run(text, []);
  const placement = await readPlacement(query);
  for (const db of all) {
    const place = placement.get(db.shard ?? 0);
    const state = nodes.find(({ node }) => place !== undefined && node === `${place.host}:${place.port}`)?.state;
    // A node that does not respond is reported once, for the node.
    if (state) found.push(...missingTriggers(placeOf(db), state.triggers[shardSchema(db.shard ?? 0)] ?? []));
    else if (!place) found.push({ place: placeOf(db), problem: "it is on no node" });
  }
  const differences = disagreements(await nodesOfShards(query), await viewsOfNodes(query));
  if (differences.length > 0) found.push({ place: "coordinator", problem: [...differences, RESTORED].join(" ") });
  found.push(...(await verifyMoves(asking)));
  if (nodes.every(({ state }) => state !== null)) found.push(...(await verifyConnections(asking)));
  return [...found, ...nodes.flatMap((node) => verifyNode(node, shards.count))];
};
