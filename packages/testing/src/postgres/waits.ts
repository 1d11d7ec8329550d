/** Waits for states of other connections on a database of the tests. */
import { session, type TestDatabase, type TestDb } from "../database.ts";
import { IS_ONE_DATABASE } from "./shard.ts";

/** Repeats `query` until it finds a row. Throws after 10,000 attempts. */
const until = async (query: () => Promise<readonly unknown[]>): Promise<void> => {
  for (let attempts = 0; attempts < 10_000; attempts++) {
    if ((await query()).length > 0) return;
    // Leaves the processor to the awaited process.
    await Bun.sleep(4);
  }
  throw new Error("The event that the test waits for did not happen.");
};

/** The values of `column` for the statements on this database that wait for a lock; on Citus, on each node. */
const blocked = async ({ client }: TestDb, column: string): Promise<readonly unknown[]> => {
  const text = `select ${column} from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  if (IS_ONE_DATABASE) return client.unsafe(text);
  return client`
    select result from run_command_on_all_nodes(${`select string_agg(found::text, ' ') from (${text}) as one (found)`})
    where result <> ''`;
};

/** Waits until a statement on this database waits for a lock, or `isOver`. */
export const untilBlocked = (db: TestDb, isOver = (): boolean => false): Promise<void> =>
  until(async () => (isOver() ? [1] : blocked(db, "1")));

/**
 * Waits until exactly `count` statements on this database wait for another transaction; with `holder`, for that of this session, which
 * is not possible on Citus.
 */
export const untilWaiting = async ({ client }: TestDb, count: number, holder?: TestDb): Promise<void> => {
  const [row] = holder ? await holder.client<{ pid: number }[]>`select pg_backend_pid() as pid` : [];
  const waits = row ? `${row.pid} = any (pg_blocking_pids(pid))` : "cardinality(pg_blocking_pids(pid)) > 0";
  const text = `select count(*)::text as result from pg_stat_activity where datname = current_database() and ${waits}`;
  await until(async () => {
    const nodes = IS_ONE_DATABASE
      ? await client.unsafe<{ result: string }[]>(text)
      : await client<{ result: string }[]>`select result from run_command_on_all_nodes(${text})`;
    return nodes.reduce((sum, { result }) => sum + Number(result), 0) === count ? [1] : [];
  });
};

/** Waits until a statement on this database waits for a lock, and cuts its connection. */
export const cutBlocked = (db: TestDb): Promise<void> => until(() => blocked(db, "pg_terminate_backend(pid)"));

/**
 * Locks the keys, so that the next look-up of a key waits. Returns a function that waits for that look-up, unlocks the
 * keys, and waits until the look-up has finished. A look-up that does not wait could be missed, because
 * pg_stat_activity shows only the newest statement of a connection.
 */
export const watchLookUps = async ({ url, db }: Pick<TestDatabase, "url" | "db">): Promise<() => Promise<void>> => {
  const holder = session(url);
  await holder.client`begin`;
  await holder.client`lock table api_keys`;
  const lookUps = `
    select 1 from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like '%"checkedAt"%' and state = 'active'`;
  return async () => {
    await until(() => db.client.unsafe(`${lookUps} and wait_event_type = 'Lock'`));
    await holder.client`commit`;
    await holder.close();
    await until(async () => ((await db.client.unsafe(lookUps)).length === 0 ? [1] : []));
  };
};

/**
 * Begins work that is awaited later. Only the place that awaits it reports its failure, not the time between two tests.
 */
export const begin = <Result>(work: () => Promise<Result>): Promise<Result> => {
  const result = work();
  result.catch(() => {});
  return result;
};

/**
 * Runs `works` at the same time. Each of them locks a row, which `lock` locks first. That lock is released when all of
 * them wait. They lock the row in their order, because PostgreSQL serves waiting transactions one after the other.
 * Returns their outcomes.
 */
export const inTurn = async <Outcome>(
  { url, db }: Pick<TestDatabase, "url" | "db">,
  lock: (holder: TestDb) => PromiseLike<unknown>,
  works: readonly (() => Promise<Outcome>)[],
): Promise<Outcome[]> => {
  const holder = session(url);
  const outcomes: Promise<Outcome>[] = [];
  try {
    await holder.client`begin`;
    await lock(holder);
    for (const work of works) {
      outcomes.push(begin(work));
      await untilWaiting(db, outcomes.length);
    }
    await holder.client`commit`;
    return await Promise.all(outcomes);
  } finally {
    await holder.close();
    await Promise.allSettled(outcomes);
  }
};

/**
 * Runs `work` while another transaction has run `before`. The other transaction ends by `end` when `work` waits for it
 * and `during` has run. With `end` null, it commits after `work`, which must not wait.
 */
export const whileHeld = async <Result>(
  { url, db }: Pick<TestDatabase, "url" | "db">,
  before: (holder: TestDb) => PromiseLike<unknown>,
  work: () => Promise<Result>,
  during: (holder: TestDb) => PromiseLike<unknown> = async () => {},
  end: "commit" | "rollback" | null = "commit",
): Promise<Result> => {
  const holder = session(url);
  let result: Promise<Result> | undefined;
  try {
    await holder.client`begin`;
    await before(holder);
    result = begin(work);
    if (end === null) await result;
    else await untilBlocked(db);
    await during(holder);
    await holder.client.unsafe(end ?? "commit");
    return await result;
  } finally {
    await holder.close();
    // When `during` has failed, `work` continues now, and must end before the next test.
    await Promise.allSettled([result]);
  }
};

/** How long to wait for a caller after its expiry, in milliseconds. */
const EXPIRED_MS = 100;

/**
 * Like `whileHeld`, for work whose caller is valid at its start and expires while it waits. `expire` sets the expiry of
 * the caller to a time, which is an SQL expression. On a slow machine, the caller can expire before `work` waits. Then
 * everything is repeated with twice the time.
 */
export const whileExpiring = async <Result>(
  { url, db }: Pick<TestDatabase, "url" | "db">,
  expire: (at: string) => PromiseLike<unknown>,
  before: (holder: TestDb) => PromiseLike<unknown>,
  work: () => Promise<Result>,
  end: "commit" | "rollback" = "commit",
): Promise<Result> => {
  for (let seconds = 1; ; seconds *= 2) {
    const holder = session(url);
    try {
      await holder.client`begin`;
      await expire(`clock_timestamp() + interval '${seconds} seconds'`);
      await before(holder);
      let isOver = false;
      const result = begin(work).finally(() => {
        isOver = true;
      });
      await untilBlocked(db, () => isOver);
      const hasWaited = !isOver;
      if (hasWaited) await Bun.sleep(seconds * 1000 + EXPIRED_MS);
      await holder.client.unsafe(hasWaited ? end : "rollback");
      const outcome = await result;
      if (hasWaited) return outcome;
    } finally {
      await holder.close();
    }
  }
};
