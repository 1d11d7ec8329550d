/**
 * The scene of a fault: a database, a service on it under load, the comparison at the end, and the table that is
 * printed after all faults.
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { client, session } from "@realtime-avatar/testing/database";
import { type Cluster, closeClusters } from "@realtime-avatar/testing/postgres/cluster";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { seedKey, seedTenant } from "@realtime-avatar/testing/seeds";
import { type Answer, type CallOptions, readAnswer, requestInit } from "../../support/api.ts";
import { CREDIT_VARIABLES, seedCredits } from "./credits.ts";
import { type Load, type Row, startLoad } from "./history.ts";
import { serverVariables, startServer } from "./server.ts";

setDefaultTimeout(120_000);

/** The deadline of a request in these tests: short, so that a server can be frozen for longer. */
export const DEADLINE_MS = 2000;
/** A busy machine may respond this much later. */
export const SLACK_MS = 2000;
/** Within this time after the database is back, the service serves again. */
export const BACK_MS = 3000;
export const CONNECTIONS = 10;

export const rows: (Row & { memory: string })[] = [];
/** The skipped faults, with the reason why this machine does not support them. */
const skipped: string[] = [];
/** The server of the faults that need no separate server. */
export let cluster: Cluster;

/** Records why a fault is skipped on this machine, for the table. Returns `isPossible`. */
export const possible = (fault: string, isPossible: boolean, reason: string): boolean => {
  if (!isPossible) skipped.push(`skipped: ${fault} (${reason})`);
  return isPossible;
};

beforeAll(async () => {
  cluster = await startServer();
});
afterAll(async () => {
  await closeClusters();
  const columns = [
    ...(["fault", "requests", "acknowledged", "declined", "refused", "unknown"] as const),
    ...(["opened", "expired", "lost", "duplicated"] as const),
  ];
  const seconds = (milliseconds: number | null): string =>
    milliseconds === null ? "-" : `${(milliseconds / 1000).toFixed(2)} s`;
  const cells = rows.map((row) => [
    ...columns.map((column) => String(row[column])),
    seconds(row.outageMs),
    seconds(row.backMs),
    seconds(row.slowestMs),
    row.memory,
  ]);
  const table = [[...columns, "longest outage", "back after", "slowest answer", "memory"], ...cells];
  const widths = (table[0] ?? []).map((_, index) => Math.max(...table.map((line) => (line[index] ?? "").length)));
  const lines = table.map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  "));
  process.stdout.write(`\n${[...lines, ...skipped].join("\n")}\n`);
});

export type Service = RunningProcess & { url: string };

export const services = new Set<RunningProcess>();
afterEach(async () => {
  for (const service of services) service.kill("SIGKILL");
  await Promise.all([...services].map(({ exited }) => exited));
  services.clear();
});

/** Starts the service. `command`: put before its own command, for example `["prlimit", "--nofile=100"]`. */
export const startService = async (
  databaseUrl: string,
  variables: Record<string, string> = {},
  command: readonly string[] = [],
): Promise<Service> => {
  const service = startProcess([...command, ...bun("apps/api/src/main.ts")], {
    PORT: "0",
    ...(await serverVariables(databaseUrl)),
    REQUEST_TIMEOUT_MS: String(DEADLINE_MS),
    DATABASE_CONNECTIONS: String(CONNECTIONS),
    ...CREDIT_VARIABLES,
    ...variables,
  });
  services.add(service);
  const [, url = ""] = await service.waitFor(/"url":"(http:[^"]+)"/);
  return { ...service, url };
};

/** A key with all scopes, created directly in the database. */
export const seedRoot = async (databaseUrl: string): Promise<string> => {
  const db = session(databaseUrl);
  const { secret } = await seedKey(db, await seedTenant(db), { environment: "live", scopes: ["*"] });
  await db.close();
  return secret.reveal();
};

export const residentMiB = async (pid: number): Promise<number> =>
  Number(await Bun.$`ps -o rss= -p ${pid}`.quiet().text()) / 1024;

/** Ends connections of the service, active ones first; by default all. */
export const terminateBackends = async (sql: ReturnType<typeof client>, most = CONNECTIONS): Promise<void> => {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'realtime-avatar' and pid <> pg_backend_pid()
    order by state = 'active' desc, random() limit ${most}`;
};

/** Calls the service, and reads the response. */
export const ask = async (
  { url }: Pick<Service, "url">,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> => readAnswer(await fetch(url + path, requestInit(method, options)));

const connectionsOf = async (databaseUrl: string): Promise<number> => {
  const sql = client(databaseUrl);
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name = 'realtime-avatar' and pid <> pg_backend_pid()`;
  await sql.end();
  return row?.count ?? 0;
};

export type Scene = { load: Load; service: Service; databaseUrl: string; rootKey: string };

export type SceneOptions = {
  databaseUrl?: string;
  /** The path of the service to the database, if it is not direct. */
  reach?: (databaseUrl: string) => string;
  /** The database for the final comparison, if it is another one. */
  after?: () => string;
  /** The longest time of a response, if it is not the deadline of a request. */
  deadlineMs?: number;
  backMs?: number;
  variables?: Record<string, string>;
  /** A command that is put before the command of the service. */
  command?: readonly string[];
  lanes?: number;
  /** Number of lanes that work with credits. */
  creditLanes?: number;
};

/** Runs `fault` under the load, and compares the history with the database. */
export const runFault = async (
  name: string,
  fault: (scene: Scene) => Promise<void>,
  options: SceneOptions = {},
): Promise<Row> => {
  const databaseUrl = options.databaseUrl ?? (await cluster.newDatabase());
  const rootKey = await seedRoot(databaseUrl);
  const credits = await seedCredits(databaseUrl);
  const service = await startService(options.reach?.(databaseUrl) ?? databaseUrl, options.variables, options.command);
  const { lanes, creditLanes } = options;
  const load = startLoad(name, { urls: [service.url], rootKey, credits, lanes, creditLanes });
  await load.untilSuccesses(200);
  const before = await residentMiB(service.pid);
  await fault({ load, service, databaseUrl, rootKey });
  await load.untilSuccesses(200);
  const { row, violations } = await load.finish(options.after?.() ?? databaseUrl, service.stdout() + service.stderr());
  const later = await residentMiB(service.pid);
  rows.push({ ...row, memory: `${before.toFixed(0)} to ${later.toFixed(0)} MiB` });
  expect(violations.slice(0, 10)).toEqual([]);
  expect([row.lost, row.duplicated]).toEqual([0, 0]);
  expect(row.opened).toBeGreaterThan(0);
  // With few lanes, credits may have sufficed.
  if (creditLanes === undefined) expect(row.declined).toBeGreaterThan(0);
  expect(row.backMs ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(options.backMs ?? BACK_MS);
  expect(row.slowestMs).toBeLessThanOrEqual((options.deadlineMs ?? DEADLINE_MS) + SLACK_MS);
  // The process is the same, has not grown, and holds at most its number of connections.
  expect(await connectionsOf(options.after?.() ?? databaseUrl)).toBeLessThanOrEqual(CONNECTIONS);
  expect(later).toBeLessThan(before + 150);
  service.kill("SIGTERM");
  expect(await service.exited).toBe(0);
  if (options.databaseUrl === undefined) await cluster.dropDatabase(databaseUrl);
  return row;
};

/**
 * Locks two tables for longer than the deadline: one that every create of a key or an avatar writes, and one that every
 * session writes. Returns the highest number of backends that waited for the locks at the same time.
 */
export const holdLock = async ({ load, databaseUrl }: Scene): Promise<number> => {
  const [holder, observer] = [client(databaseUrl), client(databaseUrl)];
  await holder`begin`;
  await holder`lock table audit_events, credit_entries in exclusive mode`;
  let most = 0;
  for (const end = performance.now() + 3 * DEADLINE_MS; performance.now() < end; await Bun.sleep(20)) {
    const [row] = await observer<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity
      where datname = current_database() and state = 'active' and wait_event_type = 'Lock'`;
    most = Math.max(most, row?.count ?? 0);
  }
  await holder`rollback`;
  load.healed();
  await Promise.all([holder.end(), observer.end()]);
  return most;
};
