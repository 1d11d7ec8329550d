/** The part `growth` of the benchmark: the same requests of one tenant while its data grows. */
import { loadavg } from "node:os";
import { attempt } from "../cannot-measure.ts";
import { apiRequest, type Contestant } from "../contestants.ts";
import { LEASE_SECONDS, type Line, openSessions, seedLine } from "../credits/world.ts";
import {
  countStatements,
  type Database,
  openDatabase,
  REQUEST_STATEMENTS,
  seedAvatars,
  trackStatements,
} from "../database.ts";
import type { Process, Request } from "../machine.ts";
import { loadOnce, measure, Rounds, WARM_UP_CONNECTIONS, warmUp } from "../measure.ts";
import type { Options } from "../options.ts";
import { buildService, startService } from "../processes.ts";
import { print } from "../progress.ts";
import { decimals, micros, number, table, writeBlock } from "../report.ts";
import { fillSessions, withoutIndexes } from "./fill.ts";

const CONNECTIONS = 32;
const ROUNDS = 3;
/** The number of open sessions for reports, and the releases a second for which a load first gets sessions. */
const OPEN = 1000;
const RELEASES_PER_SECOND = 6000;
const AVATAR = { displayName: "Ada", sourceKind: "image", metadata: { team: "support" } };
const AVATAR_ID = `ava_01h455vb4p${"1".padStart(16, "0")}`;

/** The requests of the tenant of `line`, whose open sessions are `sessions`. */
const contestantsOf = (
  { db }: Database,
  server: Process,
  line: Line,
  sessions: readonly string[],
  { seconds }: Options,
): Contestant[] => {
  const request = (method: string, path: string, body: object | null = null): Request =>
    apiRequest(line.apiKey, method, path, body);
  const used = { usedCreditMicros: 1_000_000 };
  const pathsOf = (ids: readonly string[], action: string) => ids.map((id) => `/api/v1/usage/sessions/${id}/${action}`);
  const open = request("POST", "/usage/sessions", { maxSessionSeconds: 1, metadata: { user_id: "u-17" } });
  const report = { ...request("POST", "/usage/sessions/{id}/usage", used), paths: pathsOf(sessions, "usage") };
  const release = async (supply: number): Promise<Request> => ({
    ...request("POST", "/usage/sessions/{id}/release", used),
    paths: pathsOf(await openSessions(db, [line], RELEASES_PER_SECOND * seconds * supply), "release"),
    isEachPathOnce: true,
  });
  const reads = [
    ...["/avatars", `/avatars/${AVATAR_ID}`, "/usage/sessions", `/usage/sessions/${sessions[0]}`, "/usage/summary"],
    ...["/credits/balance", "/credits/entries", "/api-keys/self"],
  ].map((path) => ({
    name: `GET ${path.replace(AVATAR_ID, "{id}").replace(/ses_\w+/, "{id}")}`,
    request: request("GET", path),
  }));
  return [
    { name: "POST /avatars", request: request("POST", "/avatars", AVATAR) },
    { name: "POST /usage/sessions", request: open },
    { name: "POST /usage/sessions/{id}/usage", request: report },
    { name: "POST /usage/sessions/{id}/release", prepare: release },
    ...reads,
  ].map((contestant) => ({ ...contestant, server }));
};

/**
 * Blocks of 8 KB that the statements of one request read, by label and name. They do not depend on the load of the
 * machine.
 */
type Blocks = Map<string, number>;

/** Loads a contestant for a second, and returns the blocks that its statements read for one request. */
const blocksOf = async (database: Database, contestant: Contestant): Promise<number> => {
  const { db } = database;
  await countStatements(db);
  const { count } = await loadOnce({ database, options: { seconds: 1 } }, contestant, CONNECTIONS, 1);
  const [{ blocks = 0 } = {}] = await db.run<{ blocks: number }>(
    `select sum(shared_blks_hit + shared_blks_read)::float8 as blocks from pg_stat_statements where ${REQUEST_STATEMENTS}`,
    [],
  );
  return blocks / count;
};

const reportOf = (
  {
    rounds,
    blocks,
    labels,
    loads,
  }: { rounds: Rounds; blocks: Blocks; labels: readonly string[]; loads: readonly number[] },
  names: readonly string[],
) => {
  const cpuOf = (label: string, name: string): number =>
    rounds.median(`${label} ${name}`, CONNECTIONS, "serverCpu") +
    rounds.median(`${label} ${name}`, CONNECTIONS, "databaseCpu");
  const [first = "", last = ""] = [labels[0], labels.at(-1)];
  return [
    `For one request at ${CONNECTIONS} connections: the blocks of 8 KB that the database reads, which do not depend on the load, and the processor time of process and database. Load of the machine (\`uptime\`) after each size: ${loads.map((load) => load.toFixed(1)).join(", ")}.`,
    table(
      ["blocks", ...labels, "last / first", "processor time, µs: first", "last"],
      names.map((name) => {
        const blocksAt = (label: string) => blocks.get(`${label} ${name}`) ?? Number.NaN;
        const cpu = [first, last].map((label) => micros(cpuOf(label, name)));
        return [
          name,
          ...labels.map((label) => decimals(blocksAt(label))),
          decimals(blocksAt(last) / blocksAt(first)),
          ...cpu,
        ];
      }),
    ),
    ...rounds.failures(),
  ].join("\n\n");
};

/**
 * Measures with each number of avatars, then also with many sessions and entries. Prints the tables and, if asked to,
 * writes them.
 */
export const benchGrowth = async (options: Options): Promise<void> => {
  const database = await openDatabase({ max_wal_size: "8GB", maintenance_work_mem: "1GB" });
  const { db, folder, url } = database;
  buildService();
  const lease = { SESSION_START_SECONDS: `${LEASE_SECONDS}`, SESSION_LEASE_SECONDS: `${LEASE_SECONDS}` };
  const service = await startService(folder, "service", url, lease);
  const line = await seedLine(db, 0);
  const sessions = await openSessions(db, [line], OPEN);
  const contestants = contestantsOf(database, service, line, sessions, options).filter(({ name }) =>
    name.includes(options.only),
  );
  const rounds = new Rounds();
  const blocks: Blocks = new Map();
  const [labels, loads]: [string[], number[]] = [[], []];
  const measureAll = async (label: string): Promise<void> => {
    // Deletes the sessions that the loads have opened, because sums and lists show the last month, which must not grow.
    const newest = sessions.toSorted().at(-1);
    await db.run("delete from usage_sessions where tenant_id = $1 and id > $2", [line.caller.tenantId, newest]);
    await db.run("vacuum analyze", []);
    await db.run("checkpoint", []);
    const bench = { database, options };
    for (const contestant of contestants) await warmUp(bench, contestant, WARM_UP_CONNECTIONS, 1);
    for (let round = 0; round < (options.rounds ?? ROUNDS); round++) {
      for (const contestant of contestants) {
        await measure(bench, rounds, contestant, CONNECTIONS, `${label} ${contestant.name}`);
      }
    }
    await trackStatements(db, "top");
    for (const contestant of contestants) {
      const read = await attempt(`blocks of ${contestant.name}`, () => blocksOf(database, contestant));
      if (read !== null) blocks.set(`${label} ${contestant.name}`, read);
    }
    await trackStatements(db, "none");
    labels.push(label);
    loads.push(loadavg()[0] ?? 0);
    print(`growth: ${label}`);
  };
  let avatars = 0;
  for (const size of options.sizes) {
    await withoutIndexes(db, "avatars", () =>
      seedAvatars({ ...database, tenantId: line.caller.tenantId }, avatars + 1, size),
    );
    avatars = Math.max(avatars, size);
    await measureAll(`${number(size)} avatars`);
  }
  if (options.sessions > 0) {
    await fillSessions(url, line, options.sessions);
    await measureAll(`and ${number(options.sessions)} sessions and entries`);
  }
  await service.end();
  await database.close();
  const names = contestants.map(({ name }) => name);
  const report = reportOf({ rounds, blocks, labels, loads }, names);
  print(`\n${report}`);
  if (!options.isWritten) return;
  await writeBlock("docs/performance.md", "growth", report);
};
