/**
 * The way to the database: a bounded number of connections, each with one statement at a time, and a bounded queue
 * before them (and before what is gathered: `gather.ts`). What waits has a deadline, and so has what runs; beyond the bound nobody waits, so that under too much
 * load the answers stay quick, and some of them are refusals. A request that has begun goes before one that has not:
 * otherwise, under load, most would be looked up in vain.
 *
 * Connections are opened when there is something for them to do, and one that fails makes way for another. Nothing runs
 * in the background but the opening of a connection that somebody waits for.
 */

import { createGatherer, type Gatherable, type Gatherer, type Runner } from "./batch.ts";
import { type Connection, type ConnectionOptions, type Host, hostsOf, openConnection } from "./connection.ts";
import {
  aborted,
  DatabaseError,
  databaseFailure,
  HANGS_MS,
  isOutdated,
  isSound,
  isStale,
  notExecuted,
  sentFailure,
} from "./errors.ts";
import type { Ending, IsAborted, OnWork, Standing, Watcher } from "./watcher.ts";

/**
 * By when something has to be done, as of `performance.now()`, in milliseconds; and whether it must not be done any more.
 * `isAborted` is asked immediately before each statement is handed to a connection, however long it has waited.
 */
export type Limit = { deadline: number; onWork?: OnWork | undefined; isAborted?: IsAborted | undefined };

/** The database, as statements see it. */
export type Db = {
  /** How long the database may take over one request, in milliseconds. */
  readonly deadlineMs: number;
  /** Runs one statement. Throws a `DatabaseError` where it was not executed, or may have been, for no fault of its own. */
  run<Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** Has `input` done together with what else of its kind is to be done at the moment, for whichever `owner`. */
  gather<Input, Output>(kind: Gatherable<Input, Output>, input: Input, owner: string): Promise<Output>;
  /** The same database for one request: all of its statements have until `limit`, which may be moved meanwhile. */
  until(limit: Limit): Db;
  /** The same database for work of our own: each statement has so long, and is let in as if it had begun. */
  within(milliseconds: number): Db;
  /** How many connections there are, and how much waits. */
  standing(): Standing;
  /** Lets running statements end, for a second at most, then closes every connection. */
  close(): Promise<void>;
};

export type PoolOptions = Partial<ConnectionOptions> & {
  /** How many connections there are at most; as many again while those hang. */
  connections?: number;
  /** How many requests wait for their first statement at most, and how many for a later one. */
  waiting?: number;
  deadlineMs?: number;
  watcher?: Watcher | undefined;
};

/** So soon after an attempt to connect has failed, another is made, if somebody waits. */
const RETRY_MS = 250;
/** A connection that is older is replaced when it is free: its server's memory is not kept for ever. */
const LIFETIME_MS = 30 * 60_000;
/** So often somebody looks, while there are those who wait and no connection can be opened for them. */
const LOOK_MS = 100;
/** So many wait for each connection, unless it is said otherwise: as long as fifty statements take. */
const WAITING = 50;
const CLOSE_MS = 1000;
/** How long it may take to connect. A server that is frozen, or cut off, is found to be back as soon. */
const CONNECT_MS = 2000;

/** A connection; as of `performance.now()`, when it was opened, last answered, and began what it runs. */
type Lane = { connection: Connection; openedAt: number; heardAt: number; busySince: number | null };

type Job = {
  text: string;
  parameters: readonly unknown[];
  isAborted: IsAborted | undefined;
  resolve(rows: object[]): void;
  reject(error: unknown): void;
  /** Where it runs; null while it waits. */
  lane: Lane | null;
  /** Whether the server has forgotten it once. */
  isAgain: boolean;
};

/** A host gets so much time before the next one of the list is tried as well. */
const HEAD_START_MS = 250;

/**
 * Opens a connection to the first of `hosts` that takes writes. The next is tried when one has failed, or has not
 * answered for a while.
 */
const openAny = async (
  url: string,
  hosts: readonly Host[],
  options: ConnectionOptions,
  onClose: () => void,
): Promise<Connection> => {
  let chosen: Connection | null = null;
  const attempt = async (host: Host): Promise<Connection> => {
    const connection = await openConnection(url, host, options, (closed) => closed === chosen && onClose());
    if (chosen) connection.abandon();
    chosen ??= connection;
    return connection;
  };
  const attempts: Promise<Connection>[] = [];
  for (const host of hosts) {
    const opening = attempt(host);
    attempts.push(opening);
    let timer: Timer | undefined;
    const patience = new Promise((resolve) => {
      timer = setTimeout(resolve, HEAD_START_MS);
    });
    if (hosts.length > 1) await Promise.race([opening.catch(() => {}), patience]);
    clearTimeout(timer);
    if (chosen) break;
  }
  return Promise.any(attempts).catch(({ errors }: AggregateError) => {
    // The most telling of them: a standby answers, but is of no use.
    throw errors.find(({ code }) => code !== "STANDBY") ?? errors[0];
  });
};

/** Moves `host` to the front: the next connection is not held up by hosts that are down or have no address. */
const prefer = (hosts: Host[], host: Host): void => {
  const index = hosts.indexOf(host);
  if (index > 0) hosts.unshift(...hosts.splice(index, 1));
};

/** The host of a `postgres://` URL that takes writes. */
export const findPrimary = async (
  url: string,
  { allowWeakAuth }: Pick<ConnectionOptions, "allowWeakAuth"> = {},
): Promise<Host> => {
  const options = { prepare: false, connectMs: CONNECT_MS, allowWeakAuth };
  const connection = await openAny(url, hostsOf(url), options, () => {});
  connection.abandon();
  return connection.host;
};

/** Makes a pool on a `postgres://` URL, which may name several hosts. Nothing is sent before the first statement. */
export const connect = (url: string, options: PoolOptions = {}): Db => {
  const { connections = 10, deadlineMs = 5000, watcher = null } = options;
  const { waiting: maxWaiting = connections * WAITING } = options;
  const { prepare = true, connectMs = CONNECT_MS, allowWeakAuth } = options;
  const hosts = hostsOf(url);

  const lanes = new Set<Lane>();
  const free: Lane[] = [];
  let opening = 0;
  /** Not before then is another connection opened; 0 while they can be. */
  let retryAt = 0;
  let growing: Timer | null = null;
  let isClosed = false;
  /** Connections that were opened before then have outdated plans. */
  let outdatedAt = 0;
  /** Those who wait: requests that have begun, and requests that have not. */
  const begun = new Set<Job>();
  const fresh = new Set<Job>();

  const next = (): Job | undefined => {
    for (const queue of [begun, fresh]) {
      for (const job of queue) {
        queue.delete(job);
        if (!job.isAborted?.()) return job;
        job.reject(aborted());
      }
    }
    return undefined;
  };

  const discard = (lane: Lane): void => {
    if (!lanes.delete(lane)) return;
    const index = free.indexOf(lane);
    if (index >= 0) free.splice(index, 1);
    lane.connection.abandon();
    grow();
  };

  /** Parts with every connection that was opened before the schema changed: a statement is run again only once. */
  const outdate = (lane: Lane): void => {
    if (lane.openedAt < outdatedAt) return;
    outdatedAt = performance.now();
    for (const other of [...free]) discard(other);
  };

  const execute = async (lane: Lane, job: Job): Promise<void> => {
    job.lane = lane;
    const startedAt = performance.now();
    lane.busySince = startedAt;
    let ending: Ending = "done";
    try {
      job.resolve(await lane.connection.run(job.text, job.parameters));
    } catch (error) {
      if (isOutdated(error)) outdate(lane);
      if (isStale(error) && !job.isAgain) {
        job.isAgain = true;
        job.lane = null;
        begun.add(job);
        ending = "not_executed";
      } else {
        const failure = sentFailure(error);
        ending = databaseFailure(failure) ?? "refused";
        job.reject(failure);
      }
      if (!isSound(error) || isStale(error)) discard(lane);
    }
    lane.busySince = null;
    lane.heardAt = performance.now();
    watcher?.statement(lane.heardAt - startedAt, ending);
    if (lanes.has(lane)) release(lane);
  };

  /** How many connections hang. */
  const hanging = (late = performance.now() - HANGS_MS): number => {
    let count = 0;
    for (const { busySince } of lanes) if (busySince !== null && busySince < late) count++;
    return count;
  };

  /** How many connections there may be: for those that hang, as many again. */
  const bound = (): number => connections + Math.min(hanging(), connections);

  /** A connection that is free. While one hangs, those are not trusted that have not answered for as long. */
  const takeFree = (): Lane | undefined => {
    if (free.length === 0) return undefined;
    const late = performance.now() - HANGS_MS;
    const isDubious = hanging(late) > 0;
    for (let lane = free.pop(); lane; lane = free.pop()) {
      if (!isDubious || lane.heardAt >= late) return lane;
      discard(lane);
    }
    return undefined;
  };

  const release = (lane: Lane): void => {
    const isOld = performance.now() - lane.openedAt > LIFETIME_MS || lane.openedAt < outdatedAt;
    if (isClosed || isOld || (lanes.size > connections && lanes.size > bound())) {
      discard(lane);
      return;
    }
    const job = next();
    if (job) void execute(lane, job);
    else free.push(lane);
  };

  const refuseAll = (code: string): void => {
    for (let job = next(); job; job = next()) job.reject(notExecuted(code, "there is no connection to the database"));
  };

  /** Opens a connection for each of those who wait; one at a time while the database is not there. */
  const grow = (): void => {
    while (!isClosed && opening < begun.size + fresh.size) {
      const wait = retryAt - performance.now();
      if ((retryAt > 0 && opening > 0) || wait > 0 || lanes.size + opening >= bound()) {
        growing ??= setTimeout(
          () => {
            growing = null;
            grow();
          },
          Math.max(wait, LOOK_MS),
        );
        return;
      }
      opening++;
      let lane: Lane | null = null;
      openAny(url, [...hosts], { prepare, connectMs, allowWeakAuth }, () => lane && discard(lane))
        .then(
          (connection) => {
            retryAt = 0;
            prefer(hosts, connection.host);
            const now = performance.now();
            lane = { connection, openedAt: now, heardAt: now, busySince: null };
            lanes.add(lane);
            release(lane);
          },
          (error: unknown) => {
            retryAt = performance.now() + RETRY_MS;
            // While there are others, they will do; with none, nobody should wait for what may take long.
            if (lanes.size === 0 && opening === 1) {
              refuseAll(error instanceof Error && "code" in error ? String(error.code) : "CONNECTION_FAILED");
            }
          },
        )
        .finally(() => {
          opening--;
          grow();
        });
    }
  };

  const submit = (
    text: string,
    parameters: readonly unknown[],
    queue: Set<Job>,
    { deadline, isAborted }: Limit,
  ): Promise<object[]> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw notExecuted("CONNECTION_ENDED", "the database has been closed");
      const left = deadline - performance.now();
      if (left <= 0) throw notExecuted("DEADLINE_EXCEEDED", "there is no time left");
      if (isAborted?.()) throw aborted();
      const lane = takeFree();
      if (!lane && queue.size >= maxWaiting) throw notExecuted("QUEUE_FULL", "too many wait already");
      const timer = setTimeout(() => {
        if (job.lane) {
          reject(new DatabaseError("outcome_unknown", "DEADLINE_EXCEEDED", "the database did not answer in time"));
          // What runs is of no use to anybody any more, and must not hold up others.
          discard(job.lane);
        } else {
          queue.delete(job);
          begun.delete(job);
          reject(notExecuted("DEADLINE_EXCEEDED", "no connection was free in time"));
        }
      }, left);
      const job: Job = {
        text,
        parameters,
        isAborted,
        lane: null,
        isAgain: false,
        resolve: (rows) => {
          clearTimeout(timer);
          resolve(rows);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      if (lane) void execute(lane, job);
      else {
        queue.add(job);
        grow();
      }
    });

  // biome-ignore lint/suspicious/noExplicitAny: of each kind, what it takes and gives
  const gatherers = new Map<Gatherable<any, any>, Gatherer<any, any>>();
  const gathererOf = <Input, Output>(kind: Gatherable<Input, Output>): Gatherer<Input, Output> => {
    const gatherer = gatherers.get(kind) ?? createGatherer(kind, runner, maxWaiting, watcher);
    gatherers.set(kind, gatherer);
    return gatherer;
  };

  const standing = (): Standing => {
    let gathered = 0;
    for (const { waiting } of gatherers.values()) gathered += waiting();
    return {
      connections: { open: lanes.size, busy: lanes.size - free.length, hanging: hanging(), maximum: connections },
      waiting: { statements: begun.size + fresh.size, gathered },
    };
  };

  /** Does work of a request, and tells whoever watches the request of it. */
  const watched = <Result>(kind: string, { onWork }: Limit, work: () => Promise<Result>): Promise<Result> => {
    if (!onWork) return work();
    const startedAt = performance.now();
    return work().then(
      (result) => {
        onWork(kind, startedAt, undefined);
        return result;
      },
      (error: unknown) => {
        onWork(kind, startedAt, error);
        throw error;
      },
    );
  };

  const runner = (milliseconds: number, isAborted?: IsAborted): Runner => ({
    run: <Row extends object>(text: string, parameters: readonly unknown[]) =>
      submit(text, parameters, begun, { deadline: performance.now() + milliseconds, isAborted }) as Promise<Row[]>,
  });
  const within = (milliseconds: number): Db => ({
    deadlineMs,
    ...runner(milliseconds),
    gather: (kind, input, owner) => gathererOf(kind).gather(input, owner, performance.now() + milliseconds),
    until,
    within,
    standing,
    close,
  });
  const until = (limit: Limit): Db => {
    let hasBegun = false;
    return {
      deadlineMs,
      run: async <Row extends object>(text: string, parameters: readonly unknown[]) => {
        const rows = await watched("statement", limit, () => {
          return submit(text, parameters, hasBegun ? begun : fresh, limit);
        });
        hasBegun = true;
        return rows as Row[];
      },
      gather: async (kind, input, owner) => {
        const output = await watched(kind.name, limit, () =>
          gathererOf(kind).gather(input, owner, limit.deadline, limit.isAborted),
        );
        hasBegun = true;
        return output;
      },
      until,
      within,
      standing,
      close,
    };
  };
  const close = async (): Promise<void> => {
    isClosed = true;
    if (growing) clearTimeout(growing);
    refuseAll("CONNECTION_ENDED");
    for (const lane of [...free]) discard(lane);
    const end = performance.now() + CLOSE_MS;
    while (lanes.size > 0 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const lane of [...lanes]) discard(lane);
  };
  return within(deadlineMs);
};
