/**
 * The way to the database: a bounded number of connections, a bounded queue of statements before them, and batches of
 * concurrent work. A statement has a deadline, both while it waits and while it runs. When a queue is full, further work
 * is refused at once: under too much load, the response times of accepted requests stay short.
 *
 * The parts: `slots.ts` has the connections, `queue.ts` the statements that wait for one, `hang.ts` decides which
 * connections hang, `batch.ts` groups concurrent work into one statement.
 */
import { Batcher, type BatchKind, type Runner } from "./batch.ts";
import type { ConnectionOptions } from "./connection.ts";
import { aborted, noResponse, notExecuted, queueFull, tooLate } from "./errors.ts";
import { CONNECT_MS, primaryOpener } from "./primary.ts";
import { type Priority, type StatementJob, StatementQueue } from "./queue.ts";
import { type IsAborted, type RequestLimit, withSpan } from "./request-limit.ts";
import { Slots } from "./slots.ts";
import type { PoolStats, Watcher } from "./watcher.ts";

/** The database, as statements see it. */
export type Db = {
  /** How long the database may take for one request, in milliseconds. */
  readonly deadlineMs: number;
  /** Runs one statement. Throws a `DatabaseError` when the database failed, and the server's error otherwise. */
  run<Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]>;
  /** Adds `input` to the next batch of its kind. `owner` is who it is for: owners take turns. */
  batch<Input, Output>(kind: BatchKind<Input, Output>, input: Input, owner: string): Promise<Output>;
  /** The same database for one request: `limit` applies to all of its statements together. */
  until(limit: RequestLimit): Db;
  /** The same database for background work: each statement has this much time, and the priority of a started request. */
  within(milliseconds: number): Db;
  stats(): PoolStats;
  /** Waits for running statements, up to a second, then closes every connection. */
  close(): Promise<void>;
};

export type PoolOptions = Partial<ConnectionOptions> & {
  /** The maximum number of connections; as many again while connections hang. */
  connections?: number;
  /** How many statements may wait at most: first statements of requests, and as many later ones. */
  waiting?: number;
  deadlineMs?: number;
  watcher?: Watcher | undefined;
};

/** The default of `waiting` for each connection: as long as fifty statements take. */
const WAITING_PER_CONNECTION = 50;

class Pool {
  readonly #queue: StatementQueue;
  readonly #slots: Slots;
  readonly #maxWaiting: number;
  readonly #watcher: Watcher | null;
  // biome-ignore lint/suspicious/noExplicitAny: each kind has its own types of input and output
  readonly #batchers = new Map<BatchKind<any, any>, Batcher<any, any>>();
  #isClosed = false;

  constructor(url: string, options: PoolOptions) {
    const { connections = 10, watcher = null } = options;
    const { prepare = true, connectMs = CONNECT_MS, allowWeakAuth } = options;
    this.#maxWaiting = options.waiting ?? connections * WAITING_PER_CONNECTION;
    this.#watcher = watcher;
    this.#queue = new StatementQueue(this.#maxWaiting);
    const open = primaryOpener(url, { prepare, connectMs, allowWeakAuth });
    this.#slots = new Slots(open, this.#queue, connections, watcher);
  }

  /** Runs a statement on an idle connection, or queues it. */
  submit(
    text: string,
    parameters: readonly unknown[],
    priority: Priority,
    { deadline, isAborted }: RequestLimit,
  ): Promise<object[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw notExecuted("CONNECTION_ENDED", "the database has been closed");
      const msLeft = deadline - performance.now();
      if (msLeft <= 0) throw tooLate("there is no time left");
      if (isAborted?.()) throw aborted();
      const slot = this.#slots.takeIdle();
      if (!slot && !this.#queue.hasRoom(priority)) throw queueFull();
      const timer = setTimeout(() => this.#timeOut(job), msLeft);
      const job: StatementJob = {
        text,
        parameters,
        isAborted,
        priority,
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
        // Nobody needs the result any more, and the statement must not keep the connection from others.
        this.#slots.discard(job.state.slot);
    }
  }

  batcherOf<Input, Output>(kind: BatchKind<Input, Output>): Batcher<Input, Output> {
    const existing = this.#batchers.get(kind);
    if (existing) return existing;
    const runner = (milliseconds: number, isAborted: IsAborted) => this.runner(milliseconds, isAborted);
    const batcher = new Batcher(kind, runner, this.#maxWaiting, this.#watcher);
    this.#batchers.set(kind, batcher);
    return batcher;
  }

  /** Runs statements that each have this much time, and the priority of a started request. */
  runner(milliseconds: number, isAborted?: IsAborted): Runner {
    return {
      run: <Row extends object>(text: string, parameters: readonly unknown[]) => {
        const deadline = performance.now() + milliseconds;
        return this.submit(text, parameters, "started", { deadline, isAborted }) as Promise<Row[]>;
      },
    };
  }

  stats(): PoolStats {
    let gathered = 0;
    for (const { waiting } of this.#batchers.values()) gathered += waiting;
    return { connections: this.#slots.stats(), waiting: { statements: this.#queue.size, gathered } };
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#slots.close();
  }
}

/** Creates a pool for a `postgres://` URL, which may name several hosts. Connects when the first statement is run. */
export const connect = (url: string, options: PoolOptions = {}): Db => {
  const { deadlineMs = 5000 } = options;
  const pool = new Pool(url, options);
  const stats = () => pool.stats();
  const close = () => pool.close();
  const within = (milliseconds: number): Db => ({
    deadlineMs,
    ...pool.runner(milliseconds),
    batch: (kind, input, owner) => pool.batcherOf(kind).add(input, owner, performance.now() + milliseconds),
    until,
    within,
    stats,
    close,
  });
  const until = (limit: RequestLimit): Db => {
    /** Of the request: it has started when its first statement has succeeded. */
    let priority: Priority = "new";
    return {
      deadlineMs,
      run: async <Row extends object>(text: string, parameters: readonly unknown[]) => {
        const rows = await withSpan("statement", limit, () => pool.submit(text, parameters, priority, limit));
        priority = "started";
        return rows as Row[];
      },
      batch: async (kind, input, owner) => {
        const output = await withSpan(kind.name, limit, () =>
          pool.batcherOf(kind).add(input, owner, limit.deadline, limit.isAborted),
        );
        priority = "started";
        return output;
      },
      until,
      within,
      stats,
      close,
    };
  };
  return within(deadlineMs);
};
