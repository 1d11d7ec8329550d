/**
 * The connection pool: a bounded number of connections, a bounded queue of statements for them, and batches of
 * concurrent work. A statement has a deadline, which covers waiting and running. When a queue is full, further work is
 * refused at once. So under too much load, the response times of accepted requests stay short.
 *
 * The parts: `pool/slots.ts` has the connections, `pool/queue.ts` the statements that wait for one, `pool/hang.ts` decides
 * which connections hang, `batch.ts` groups concurrent work into one statement.
 */
import { Batcher, type BatchKind, type Runner } from "./batch.ts";
import { aborted, noResponse, notExecuted, queueFull, tooLate } from "./errors.ts";
import { type StatementJob, StatementQueue } from "./pool/queue.ts";
import { Slots } from "./pool/slots.ts";
import { type IsAborted, type RequestLimit, withSpan } from "./request-limit.ts";
import type { ConnectionOptions } from "./server/connection.ts";
import type { Host } from "./server/hosts.ts";
import { CONNECT_MS, primaryOpener } from "./server/primary.ts";
import type { PoolStats, Watcher } from "./watcher.ts";

/** The database, as statements see it. */
export type Db = {
  /** How long the database may take for one request, in milliseconds. */
  readonly deadlineMs: number;
  /** The number of the shard, which new ids carry; null for one database. */
  readonly shard: number | null;
  /**
   * Runs one statement. `name` is its name in metrics, traces and logs. Throws a `DatabaseError` when the database failed,
   * and the server's error otherwise.
   */
  run: Runner["run"];
  /** Adds `input` to the next batch of its kind. Owners take turns. */
  batch<Input, Output>(kind: BatchKind<Input, Output>, input: Input, owner: string): Promise<Output>;
  /** The same database for one request: `limit` applies to all of its statements together. */
  until(limit: RequestLimit): Db;
  /** The same database for background work: each statement has this much time. */
  within(milliseconds: number): Db;
  stats(): PoolStats;
  /** Waits for running statements, up to a second, then closes every connection. */
  close(): Promise<void>;
};

/** The access to a shard: see `shards/shard.ts`. */
export type ShardOptions = {
  number: number;
  searchPath: string;
  /** The text of a statement of the service, with the names of the shard. */
  textOf(text: string): string;
};

export type PoolOptions = Partial<ConnectionOptions> & {
  /** The maximum number of connections. While connections hang, up to as many additional ones are opened. */
  connections?: number;
  /** The maximum number of statements that wait for a connection, and of inputs in each queue of a batch. */
  waiting?: number;
  deadlineMs?: number;
  watcher?: Watcher | undefined;
  /** The shard; null for one database. */
  shard?: ShardOptions | null;
  /** The current servers, in place of those of the URL. A connection to another server is replaced when it is idle. */
  hosts?: (() => readonly Host[]) | undefined;
};

/** The default of `waiting` for each connection: as many as fifty statements per connection. */
const WAITING_PER_CONNECTION = 50;

/** The name of a statement without a name. */
const UNNAMED = "statement";
type Statement = Pick<StatementJob, "text" | "parameters" | "name">;

class Pool {
  readonly #queue: StatementQueue;
  readonly #slots: Slots;
  readonly #maxWaiting: number;
  readonly #watcher: Watcher | null;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own types of input and output
  readonly #batchers = new Map<BatchKind<any, any>, Batcher<any, any>>();
  readonly #textOf: ((text: string) => string) | null;
  #isClosed = false;

  constructor(url: string, options: PoolOptions) {
    const { connections = 10, watcher = null } = options;
    const { prepare = true, connectMs = CONNECT_MS, allowWeakAuth, shard = null } = options;
    this.#maxWaiting = options.waiting ?? connections * WAITING_PER_CONNECTION;
    this.#watcher = watcher;
    this.#queue = new StatementQueue(this.#maxWaiting);
    this.#textOf = shard?.textOf ?? null;
    const { hosts } = options;
    const open = primaryOpener(url, { prepare, connectMs, allowWeakAuth, searchPath: shard?.searchPath }, hosts);
    this.#slots = new Slots(open, this.#queue, connections, watcher, hosts ?? null);
  }

  /** Runs a statement on an idle connection, or queues it. */
  submit({ text, parameters, name }: Statement, { deadline, isAborted }: RequestLimit): Promise<object[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw notExecuted("CONNECTION_ENDED", "the database has been closed");
      const msLeft = deadline - performance.now();
      if (msLeft <= 0) throw tooLate("there is no time left");
      if (isAborted?.()) throw aborted();
      const slot = this.#slots.takeIdle();
      if (!slot && !this.#queue.hasRoom()) throw queueFull();
      const timer = setTimeout(() => this.#timeOut(job), msLeft);
      const job: StatementJob = {
        text: this.#textOf === null ? text : this.#textOf(text),
        parameters,
        name,
        isAborted,
        state: { kind: "waiting" },
        isRerun: false,
        resolve: (rows) => {
          clearTimeout(timer);
          resolve(rows);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      if (slot) void this.#slots.run(slot, job);
      else {
        this.#queue.add(job);
        this.#slots.grow();
      }
    });
  }

  #timeOut(job: StatementJob): void {
    switch (job.state.kind) {
      case "waiting":
        this.#queue.remove(job);
        job.reject(tooLate("no connection was free in time"));
        return;
      case "running":
        job.reject(noResponse());
        // The statement must not occupy the connection, because its result is no longer needed.
        this.#slots.discard(job.state.slot);
    }
  }

  batcherOf<Input, Output>(kind: BatchKind<Input, Output>): Batcher<Input, Output> {
    const existing = this.#batchers.get(kind);
    if (existing) return existing;
    const runnerWithin = (milliseconds: number, isAborted: IsAborted): Runner => ({
      run: <Row extends object>(text: string, parameters: readonly unknown[], name = UNNAMED) => {
        const deadline = performance.now() + milliseconds;
        return this.submit({ text, parameters, name }, { deadline, isAborted }) as Promise<Row[]>;
      },
    });
    const batcher = new Batcher(kind, runnerWithin, this.#maxWaiting, this.#watcher);
    this.#batchers.set(kind, batcher);
    return batcher;
  }

  stats(): PoolStats {
    let batched = 0;
    for (const { waiting } of this.#batchers.values()) batched += waiting;
    return { connections: this.#slots.stats(), waiting: { statements: this.#queue.size, batched } };
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#slots.close();
  }
}

/** Creates a pool for a `postgres://` URL, which may name several hosts. Connects when the first statement is run. */
export const connect = (url: string, options: PoolOptions = {}): Db => {
  const { deadlineMs = 5000 } = options;
  const shard = options.shard?.number ?? null;
  const pool = new Pool(url, options);
  /** The database under the limit that `limitOf` returns for each statement. */
  const view = (limitOf: () => RequestLimit): Db => {
    /** Runs one piece of work under its limit. */
    const perform = <Result>(name: string, work: (limit: RequestLimit) => Promise<Result>): Promise<Result> => {
      const limit = limitOf();
      return withSpan(name, limit, () => work(limit));
    };
    return {
      deadlineMs,
      shard,
      run: <Row extends object>(text: string, parameters: readonly unknown[], name = UNNAMED) =>
        perform(name, (limit) => pool.submit({ text, parameters, name }, limit) as Promise<Row[]>),
      batch: (kind, input, owner) =>
        perform(kind.name, ({ deadline, isAborted }) => pool.batcherOf(kind).add(input, owner, deadline, isAborted)),
      until: (limit) => view(() => limit),
      within: (milliseconds) => view(() => ({ deadline: performance.now() + milliseconds })),
      stats: () => pool.stats(),
      close: () => pool.close(),
    };
  };
  return view(() => ({ deadline: performance.now() + deadlineMs }));
};
