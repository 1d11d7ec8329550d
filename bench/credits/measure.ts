/** The measurements of the benchmark of credits: rates in interleaved rounds, write-ahead log, and a load of minutes. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { attempt, CannotMeasure } from "../cannot-measure.ts";
import { countStatements, REQUEST_STATEMENTS, trackStatements } from "../database.ts";
import { type Request, wrk, wrkScript } from "../machine.ts";
import { type LoadBench, loadOnce, measure, Rounds, WARM_UP_CONNECTIONS, warmUp } from "../measure.ts";
import { type Progress, print } from "../progress.ts";
import type { Row, Servers } from "./contestants.ts";
import { createHotRow, delayCommits } from "./hot-row.ts";
import type { World } from "./world.ts";

/** The label of a row in `Rounds`: rows with slow commits count for themselves. */
export const rowLabel = ({ name, delay }: Pick<Row, "name" | "delay">): string =>
  delay === 0 ? name : `${name}, slow commits`;

/** Loads each row for a moment, then measures the rows one after another, in several rounds. */
export const measureRows = async (
  bench: LoadBench,
  rows: readonly Row[],
  progress: Progress,
  {
    rounds: count,
    warmUpSeconds,
    reservedSeconds,
  }: { rounds: number | null; warmUpSeconds: number; reservedSeconds: number },
): Promise<Rounds> => {
  const { db } = bench.database;
  const rounds = new Rounds();
  await createHotRow(db);
  for (const row of rows) {
    // A load of releases gets as many sessions as `seconds` need.
    const seconds = row.prepare ? Math.min(warmUpSeconds, bench.options.seconds) : warmUpSeconds;
    progress.step(`warm-up of ${rowLabel(row)}`);
    if (!row.script && row.delay === 0) await warmUp(bench, row, WARM_UP_CONNECTIONS, seconds);
  }
  await progress.rounds(count, reservedSeconds, async (round) => {
    await db.run("vacuum analyze", []);
    for (const delay of new Set(rows.map((row) => row.delay))) {
      await delayCommits(db, delay);
      for (const row of rows.filter((row) => row.delay === delay)) {
        progress.step(`${round}: ${rowLabel(row)} at ${row.connections}`);
        await measure(bench, rounds, row, row.connections, rowLabel(row));
      }
    }
  });
  await delayCommits(db, 0);
  return rounds;
};

/** The write-ahead log of `seconds` under a load: of the whole server, and of the statements of the requests. */
export type Wal = { name: string; seconds: number; requests: number; serverBytes: number; statementBytes: number };

export const WAL_SECONDS = 5;

/**
 * Measures the log of an idle server, which contains the background writes, and of these loads. The service records the
 * last use of keys every few seconds: these statements count as background.
 */
export const measureWal = async (bench: LoadBench, rows: readonly Row[], seconds = WAL_SECONDS): Promise<Wal[]> => {
  const { db } = bench.database;
  const read = async (query: string): Promise<number> => Number((await db.run<{ bytes: string }>(query, []))[0]?.bytes);
  const measured: Wal[] = [];
  const options = { seconds };
  await trackStatements(db, "top");
  for (const row of [null, ...rows]) {
    // Finishes the background work of earlier writes.
    await db.run("vacuum analyze", []);
    await db.run("checkpoint", []);
    await countStatements(db);
    const before = await read("select pg_current_wal_insert_lsn() - '0/0' as bytes");
    if (!row) await Bun.sleep(seconds * 1000);
    const loaded = row
      ? await attempt(`write-ahead log of ${row.name}`, () =>
          loadOnce({ ...bench, options }, row, row.connections, seconds),
        )
      : { count: 0 };
    if (!loaded) continue;
    const requests = loaded.count;
    const serverBytes = (await read("select pg_current_wal_insert_lsn() - '0/0' as bytes")) - before;
    const statementBytes = await read(
      `select coalesce(sum(wal_bytes), 0) as bytes from pg_stat_statements where ${REQUEST_STATEMENTS}`,
    );
    measured.push({ name: row?.name ?? "at rest", seconds, requests, serverBytes, statementBytes });
  }
  await trackStatements(db, "none");
  return measured;
};

/** A script for wrk that repeatedly opens a session, reports its usage and releases it. */
const lifeScript = (apiKey: string): string => `
  local reserved, started = {}, {}
  local headers = {["authorization"] = "Bearer ${apiKey}", ["content-type"] = "application/json"}
  local used = '{"usedCreditMicros": 1000000}'
  local sessions = "/api/v1/usage/sessions"
  function request()
    local id = table.remove(started)
    if id then return wrk.format("POST", sessions .. "/" .. id .. "/release", headers, used) end
    id = table.remove(reserved)
    if id then return wrk.format("POST", sessions .. "/" .. id .. "/usage", headers, used) end
    return wrk.format("POST", sessions, headers, '{"maxSessionSeconds": 60}')
  end
  function response(status, _, body)
    local id, state = body:match('"sessionId":"([^"]+)"'), body:match('"status":"(%a+)"')
    if state == "reserved" then table.insert(reserved, id) end
    if state == "started" then table.insert(started, id) end
  end`;

/**
 * Requests per second of one minute: of the load, and of a read-only load that shows the speed of the machine in this
 * minute.
 */
export type Minute = { rate: number; reference: number };

const LOAD_SECONDS = 52;
const REFERENCE_SECONDS = 8;

/** Opens, reports and releases sessions of one key at 32 connections, minute by minute. */
export const measureMinutes = async (
  { database: { folder } }: LoadBench,
  { flat }: World,
  { service }: Servers,
  readOnly: Request,
  minutes: number,
): Promise<Minute[]> => {
  const measured: Minute[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    const { rate, refused } = await wrkScript(folder, service.url, lifeScript(flat.apiKey), 32, LOAD_SECONDS);
    if (rate === 0 || refused > 0) throw new CannotMeasure(`${refused} requests were refused, at ${rate} a second`);
    const reference = await wrk(folder, service.url, readOnly, 32, REFERENCE_SECONDS);
    measured.push({ rate, reference: reference.rate });
    print(
      `credits, minute ${minute + 1} of ${minutes}: ${Math.round(rate)} requests/s, reads ${Math.round(reference.rate)}`,
    );
  }
  return measured;
};

/** The share of updates of the counters that were HOT (without a change of an index), by table. */
export const hotShares = async (db: Db): Promise<Map<string, number>> => {
  const rows = await db.run<{ name: string; share: number }>(
    `select relname as name, n_tup_hot_upd::float8 / n_tup_upd as share from pg_stat_user_tables
      where relname in ('credit_accounts', 'api_key_meters', 'usage_sessions') and n_tup_upd > 0 order by 1`,
    [],
  );
  return new Map(rows.map(({ name, share }) => [name, share]));
};
