/**
 * Random histories of credits by many clients on the pools of three replicas. Afterwards no counter has drifted, and a
 * replay in order finds no hold above a cap or a balance. `LONG=1` runs a million operations, and more rounds of each
 * fault.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { type Load, LoadClient, newLoad, seedLoad } from "@realtime-avatar/testing/credits/load";
import { mutate } from "@realtime-avatar/testing/credits/mutations";
import { installTrace, replayTrace } from "@realtime-avatar/testing/credits/trace";
import { client, connectTo, IS_AWAY } from "@realtime-avatar/testing/database";
import { fileDatabase, fixture } from "@realtime-avatar/testing/fixture";
import { source, startProcess } from "@realtime-avatar/testing/processes";
import { until } from "@realtime-avatar/testing/until";
import { findCreditDrift } from "./invariants.ts";

const isLong = process.env["LONG"] === "1";
const OPERATIONS = Number(process.env["OPERATIONS"] ?? (isLong ? 1_000_000 : 600));
/** After this many operations, the tenants are checked and replaced, because a cap is reached only once. */
const ROUND = 5000;
const REPLICAS = 3;
const CLIENTS = 16;

const database = await fileDatabase();
await mutate(database.db);
const trace = await installTrace(database);
await fixture({ close: () => trace.own.end() });
if (isLong) setDefaultTimeout(7_200_000);

/** Fails unless all invariants hold. Returns the findings. */
const check = async (load: Load) => {
  const tenantIds = load.tenants.map(({ tenantId }) => tenantId);
  for (const tenantId of tenantIds) expect(await findCreditDrift(database.db, tenantId, 10)).toEqual([]);
  const findings = await replayTrace(trace, tenantIds, load.refusals);
  expect(findings).toMatchObject({ over: 0, ofRevoked: 0, unexplained: [] });
  const claims = [...load.claims.values()].filter(({ length }) => length > 1);
  const twice = await database.db.client`
    select claim from unnest(${claims.map((ids) => ids.join(" "))}::text[]) claim
    join usage_sessions on id = any (string_to_array(claim, ' ')) group by 1 having count(*) > 1`;
  expect([...twice]).toEqual([]);
  return findings;
};

/** Runs the clients of all replicas, and `disturb` at the same time. */
const runRound = async (
  seed: number,
  operations: number,
  disturb: (isOver: () => boolean) => Promise<void>,
  mayEnd = () => true,
) => {
  const load = newLoad(await seedLoad(database.db, 2), trace);
  const pools = Array.from({ length: REPLICAS }, () => connectTo(database, { connections: 4, deadlineMs: 60_000 }));
  const isOver = () => load.operations >= operations && mayEnd();
  await Promise.all([
    disturb(isOver),
    ...pools.flatMap((pool, replica) =>
      Array.from({ length: CLIENTS }, (_, at) => new LoadClient(pool, load, seed + replica * 100 + at).run(isOver)),
    ),
  ]);
  await Promise.all(pools.map((pool) => pool.close()));
  return { load, findings: await check(load) };
};

const print = (text: string): void => void (isLong && process.stdout.write(`${text}\n`));
const listOf = (counts: ReadonlyMap<string, number>): string =>
  [...counts]
    .sort()
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");

/** The outcomes that a history must contain, because otherwise it has not tested the limits. */
const REQUIRED = ["written", "insufficient_credits", "spend_limit_exceeded self", "spend_limit_exceeded ancestor"];

test("random operations on three replicas: no cap is exceeded, no credits are lost", async () => {
  let [done, movements, refusals] = [0, 0, 0];
  const seen = new Set<string>();
  const missing = () => REQUIRED.filter((kind) => !seen.has(kind));
  // A random cap can hide the balance for a whole round. So the outcomes of all rounds count, and further rounds are
  // run if needed.
  for (let seed = 1; done < OPERATIONS || (missing().length > 0 && done < 5 * ROUND); seed += 1000) {
    const { load, findings } = await runRound(seed, Math.min(ROUND, Math.max(OPERATIONS - done, 1000)), async () => {});
    done += load.operations;
    movements += findings.movements;
    refusals += findings.refusals;
    // Neither a deadlock (40P01) nor another error.
    expect(listOf(load.failures)).toBe("");
    for (const kind of load.outcomes.keys()) seen.add(kind);
    print(
      `${done} operations, ${movements} movements, ${refusals} refusals explained: 0 over, 0 adrift. ${listOf(load.outcomes)}`,
    );
  }
  expect(missing()).toEqual([]);
});

describe("credits after faults", () => {
  test("random operations, while the server ends connections: no drift", async () => {
    for (let round = 0; round < (isLong ? 20 : 1); round++) {
      let ended = 0;
      const disturb = async (isOver: () => boolean) => {
        while (!isOver()) {
          await Bun.sleep(20);
          const rows = await database.db.client`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and query like '%rta\_%' and state = 'active' and pid <> pg_backend_pid()
            order by random() limit 1`;
          ended += rows.length;
        }
      };
      const operations = isLong ? ROUND : 200;
      const { load, findings } = await runRound(500_000 + round * 1000, operations, disturb, () => ended > 0);
      expect([...load.failures.keys()].filter((code) => code === "40P01")).toEqual([]);
      print(
        `${load.operations} operations, ${ended} connections ended, ${findings.movements} movements: ${listOf(load.failures)}`,
      );
    }
  });

  test.skipIf(IS_AWAY)("random operations, while clients are killed: no drift", async () => {
    const tenants = await seedLoad(database.db, 2);
    for (let round = 0; round < (isLong ? 50 : 1); round++) {
      const program = "packages/testing/src/credits/load.ts";
      const killed = (isLong ? [0, 1, 2] : [0]).map((replica) =>
        startProcess(source(program, database.url, JSON.stringify(tenants), `${round * 100 + replica * 20}`)),
      );
      await Promise.all(killed.map((one) => one.waitFor(/running/)));
      // The kill comes during the work of the clients, after another part of it in each round.
      const before = await countEntries();
      await until(async () => (await countEntries()) >= before + 100 + 20 * (round % 10), { pollMs: 5 });
      for (const one of killed) one.kill("SIGKILL");
      await Promise.all(killed.map(({ exited }) => exited));
      await untilQuiet();
      const findings = await check(newLoad(tenants, null));
      expect(findings.movements).toBeGreaterThan(0);
      print(`round ${round}: ${findings.movements} movements`);
    }
  });
});

const countEntries = async (): Promise<number> => {
  const [row] = await database.db.client`select count(*)::int as count from credit_entries`;
  return row?.["count"] ?? 0;
};

/** Waits until the statements of killed clients have ended. */
const untilQuiet = async (): Promise<void> => {
  const own = client(database.shard?.node ?? database.url);
  const running = () => own`
    select query from pg_stat_activity where datname = current_database() and state = 'active' and query like '%rta\_%'
      and pid <> pg_backend_pid()`;
  await until(async () => (await running()).length === 0, { state: running });
  await own.end();
};
