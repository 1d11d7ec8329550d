/**
 * Benchmark of credits at the database: how many holds a second the functions write, compared with the limits below
 * them, in one run.
 *
 * The limits: one hot conditional UPDATE at 32 clients, and tpcb-like at scale 1. Each is measured with commits as fast as
 * the disk allows, and with commits that take 1 ms more (`commit_delay`).
 */
import type { Caller } from "@realtime-avatar/db/callers/callers";
import { connect, type Db } from "@realtime-avatar/db/connection/pool";
import { FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { attempt } from "../cannot-measure.ts";
import type { Database } from "../database.ts";
import { pgbench, prepareTpcb, TPCB } from "../machine.ts";
import type { Options } from "../options.ts";
import type { Progress } from "../progress.ts";
import { number, table } from "../report.ts";
import { divideRates, formatRange, type Goal } from "./goals.ts";
import { createHotRow, delayCommits, HOT_UPDATE, SLOW_COMMIT } from "./hot-row.ts";
import { PRICE, seedLine, TENANTS } from "./world.ts";

type Contestant = {
  name: string;
  /** The script of pgbench: a file, or a built-in script. */
  script: string;
  clients: number;
  /** The number of holds, updates or creates in one transaction. */
  batch: number;
};

const text = (values: readonly string[]): string => `'{${values.join(",")}}'`;
const callersOf = (callers: readonly Caller[]): string =>
  `array[${callers
    .map(
      ({ tenantId, id, version, credentialKeyId, lineage }) =>
        `row('${tenantId}', '${id}', ${version}, '${credentialKeyId}', ${text(lineage)}, null, false)`,
    )
    .join(", ")}]::${FUNCTIONS_SCHEMA}.caller[]`;

/** New ids in the order of time, like those of the service: one random part for each batch, then a number. */
const RUN = `(select '0' || lpad(to_hex((extract(epoch from clock_timestamp()) * 1e6)::bigint), 14, '0')
  || left(md5(random()::text), 8) as stem offset 0) run`;
const id = (prefix: string): string => `'${prefix}_' || stem || lpad(i::text, 3, '0')`;
const callerAt = (callers: readonly Caller[], batch: number): string =>
  text(Array.from({ length: batch }, (_, at) => `${(at % callers.length) + 1}`));
const claims = (batch: number): string => `array(
  select row('POST /x', ${id("k")}, sha256('x'), 201, '/x', '1', '\\x00', null)::${FUNCTIONS_SCHEMA}.claim
  from ${RUN}, generate_series(1, ${batch}) i)`;

/** Opens a batch of sessions, the requests of `callers` in turn. */
const opening = (callers: readonly Caller[], batch: number, { seconds = 1, isClaimed = false } = {}): string => `
  select count(*) from ${FUNCTIONS_SCHEMA}.open_usage_sessions(${callersOf(callers)}, ${callerAt(callers, batch)}, array(
    select row(${id("ses")}, '${callers[0]?.environment}', null, ${seconds}, ${seconds}, ${PRICE}, 120, '{}', ${id("ent")}, 'r',
      now())::${FUNCTIONS_SCHEMA}.session_request
    from ${RUN}, generate_series(1, ${batch}) i
  ), null, ${isClaimed ? claims(batch) : "null"}, false);`;

/** Creates a batch of avatars with claims, as POST /avatars with an Idempotency-Key. */
const creating = (callers: readonly Caller[], batch: number): string => {
  const tenants = callers.map(({ tenantId }) => `'${tenantId}'`).join(", ");
  const tenantId = `(array[${tenants}])[(i - 1) % ${callers.length} + 1]`;
  return `
  select count(*) from ${FUNCTIONS_SCHEMA}.create_avatars(${callersOf(callers)}, ${callerAt(callers, batch)}, array(
    select row(${tenantId}, ${id("ava")}, 'live', 'n', 'image', 'm', 'draft', null, null, null, 0, null, '[]', null, null, null, 0,
      '{}', '{}', 1, now(), now())::${FUNCTIONS_SCHEMA}.avatar
    from ${RUN}, generate_series(1, ${batch}) i
  ), null, array(
    select row(${tenantId}, ${id("aud")}, 'live', null, null, 'avatar.created', ${id("ava")}, '{}', 'r', now())::${FUNCTIONS_SCHEMA}.audit_event
    from ${RUN}, generate_series(1, ${batch}) i
  ), ${claims(batch)}, false);`;
};

const HOT = "hot UPDATE, 32 clients";
const contestantsOf = async (db: Db): Promise<Contestant[]> => {
  const { caller: flat } = await seedLine(db, 0);
  const { caller: deep } = await seedLine(db, 8);
  const { caller: refused } = await seedLine(db, 0, 0);
  const many = (await Promise.all(Array.from({ length: TENANTS }, () => seedLine(db, 0)))).map(({ caller }) => caller);
  await createHotRow(db);
  return [
    { name: HOT, script: HOT_UPDATE, clients: 32, batch: 1 },
    { name: "tpcb-like, scale 1, 32 clients", script: TPCB, clients: 32, batch: 1 },
    ...[1, 8, 32, 64].map((batch) => ({
      name: `holds, one tenant, batches of ${batch}`,
      script: opening([flat], batch),
      clients: 2,
      batch,
    })),
    { name: "holds, lineage depth 8, batches of 64", script: opening([deep], 64), clients: 2, batch: 64 },
    { name: "holds with claims, 64 tenants", script: opening(many, 64, { isClaimed: true }), clients: 2, batch: 64 },
    { name: "avatars with claims, 64 tenants", script: creating(many, 64), clients: 2, batch: 64 },
    { name: "refusals, batches of 64", script: opening([refused], 64), clients: 2, batch: 64 },
  ];
};

/** The ratios with a goal: their contestants, and the goal. */
const GOALS: readonly [string, string, number][] = [
  ["holds, one tenant, batches of 32", HOT, 4],
  ["holds, one tenant, batches of 64", HOT, 4],
  ["holds, lineage depth 8, batches of 64", "holds, one tenant, batches of 64", 0.7],
  ["holds with claims, 64 tenants", "avatars with claims, 64 tenants", 0.8],
];

const DELAYS = [
  { delay: 0, head: "fast commits" },
  { delay: SLOW_COMMIT, head: "commits of 1 ms" },
] as const;

/** Measures everything in several rounds, and returns the goals and the table of rates. */
export const measureFunctions = async (
  { url, folder }: Database,
  { seconds, rounds, only }: Pick<Options, "seconds" | "rounds" | "only">,
  progress: Progress,
): Promise<{ goals: Goal[]; tables: string }> => {
  const db = connect(url, { deadlineMs: 3_600_000, connections: 2 });
  const all = await contestantsOf(db);
  const contestants = all.filter(({ name }) => name.includes(only) || name === HOT);
  prepareTpcb(url);
  const measured = new Map<string, number[]>();
  const ratesOf = (name: string, delay: number): number[] => measured.get(`${name} ${delay}`) ?? [];
  await progress.rounds(rounds, 0, async (round) => {
    for (const { delay } of DELAYS) {
      await delayCommits(db, delay);
      for (const { name, script, clients, batch } of contestants) {
        progress.step(`${round}: ${name}`);
        await db.run("vacuum analyze", []);
        const load = () => pgbench(folder, url, script.replaceAll(/\s+/g, " "), clients, seconds);
        const loaded = await attempt(name, load);
        if (loaded) measured.set(`${name} ${delay}`, [...ratesOf(name, delay), loaded.rate * batch]);
      }
    }
  });
  await delayCommits(db, 0);
  await db.close();
  const goals = GOALS.flatMap(([one, other, least]) =>
    DELAYS.map(({ delay, head }) => ({
      name: `database alone, ${head}: ${one} / ${other}`,
      least,
      ratios: divideRates(ratesOf(one, delay), ratesOf(other, delay)),
    })),
  );
  const tables = table(
    ["a second", ...DELAYS.map(({ head }) => head)],
    contestants.map(({ name }) => [name, ...DELAYS.map(({ delay }) => formatRange(ratesOf(name, delay), number))]),
  );
  return { goals, tables };
};
