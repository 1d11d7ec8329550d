/**
 * Groups concurrent work of one kind into one statement. While a batch is at the database, new inputs wait, and are sent
 * together as the next batch. So a batch grows with the load, and on an idle service no input waits.
 *
 * A second batch is sent beside the first only when it is full, because two half batches cost more than one full batch,
 * or when the first is slow.
 *
 * - Owners take turns (`batch/queue.ts`), so that one owner's flood does not delay the others.
 * - A batch that the database refuses because of its content is sent again one input at a time, so that one bad input
 *   does not fail its neighbours.
 * - The number of waiting inputs is bounded. In a full queue, the latest input of the owner with the most inputs is refused in favour of an owner with fewer. A kind may have two queues (`isPreferred`), each with this bound, so that one queue cannot fill the other.
 * - The input of an aborted request is never sent. The pool refuses a batch that contains one at the moment of sending;
 *   the batch is then sent without it.
 */
import { BatchQueue } from "./batch/queue.ts";
import { DatabaseError, isAbort, noResponse, queueFull, tooLate } from "./errors.ts";
import { HANG_AFTER_MS } from "./pool/hang.ts";
import type { IsAborted } from "./request-limit.ts";
import type { Watcher } from "./watcher.ts";

/** The part of the database that a statement needs. */
export type Runner = {
  /** Runs one statement. `name` is its name in metrics, traces and logs. */
  run<Row extends object>(text: string, parameters: readonly unknown[], name?: string): Promise<Row[]>;
};

/** A kind of work that one statement can do for many inputs. */
export type BatchKind<Input, Output> = {
  /** The label in metrics, and the name of its spans. */
  name: string;
  /** Does the work of all inputs in one statement. Returns the output of each at the same index. */
  run(db: Runner, inputs: readonly Input[]): Promise<readonly Output[]>;
  /** The maximum number of batches at the database at once. */
  inFlight: number;
  /** The maximum number of inputs in one batch; by default `MAX_BATCH`. */
  maxBatch?: number;
  /** Inputs with the same key are never in one batch. Null: the input may share a batch with any other input. */
  keyOf?(input: Input): string | null;
  /** Whether the input waits in the preferred queue. Without this function all inputs wait in the other queue. */
  isPreferred?(input: Input): boolean;
};

/** The default maximum number of inputs in one batch. */
export const MAX_BATCH = 64;
/**
 * The share of the other queue in a full batch, while that queue has inputs. The preferred queue gets the rest. So the
 * other queue is slower under load, but never stops.
 */
export const OTHER_SHARE = 8;

/** A batch that takes longer is slow: the next one is sent beside it. */
const SLOW_MS = 50;
/**
 * A batch that takes longer hangs: its connection may be lost. It no longer counts, so that it does not block later
 * batches. The margin lets the pool detect the hang first, so that the next batch gets a connection that works.
 */
const HANG_MS = HANG_AFTER_MS + 50;

type Item<Input, Output> = {
  readonly input: Input;
  readonly isAborted: IsAborted | undefined;
  /** An item that settles while it waits has left its queue. */
  state: "waiting" | "sent" | "settled";
  resolve(output: Output): void;
  reject(error: unknown): void;
};

/** A batch at the database. `over`: it has ended or hangs, and no longer counts. */
type Flight = { phase: "fast" | "slow" | "over"; timer: Timer };

/**
 * Runs a batch in which equal inputs share one output. `keyOf` returns the same text for equal inputs. `run` gets each
 * different input once.
 */
export const shareEqual = async <Input, Output>(
  inputs: readonly Input[],
  keyOf: (input: Input) => string,
  run: (different: readonly Input[]) => Promise<readonly Output[]>,
): Promise<Output[]> => {
  const different = new Map(inputs.map((input) => [keyOf(input), input]));
  const outputs = await run([...different.values()]);
  const indexes = new Map([...different.keys()].map((key, index) => [key, index]));
  return inputs.map((input) => outputs[indexes.get(keyOf(input)) ?? -1] as Output);
};

export class Batcher<Input, Output> {
  readonly #kind: BatchKind<Input, Output>;
  readonly #runnerWithin: (milliseconds: number, isAborted: IsAborted) => Runner;
  readonly #maxWaiting: number;
  readonly #watcher: Watcher | null;
  readonly #maxBatch: number;

  readonly #preferred = new BatchQueue<Item<Input, Output>>();
  readonly #other = new BatchQueue<Item<Input, Output>>();
  readonly #flights = { fast: 0, slow: 0, over: 0 };
  /** The latest deadline of any input so far. A batch may use it: each input's own deadline rejects that input. */
  #latestDeadline = 0;
  #lastBatchSize = 0;
  #isSendScheduled = false;

  /**
   * `runnerWithin` limits the time of each statement. It does not send a statement when `isAborted` returns true at
   * that moment.
   */
  constructor(
    kind: BatchKind<Input, Output>,
    runnerWithin: (milliseconds: number, isAborted: IsAborted) => Runner,
    maxWaiting: number,
    watcher: Watcher | null = null,
  ) {
    this.#kind = kind;
    this.#runnerWithin = runnerWithin;
    this.#maxWaiting = maxWaiting;
    this.#watcher = watcher;
    this.#maxBatch = kind.maxBatch ?? MAX_BATCH;
  }

  /** The number of inputs that wait. */
  get waiting(): number {
    return this.#preferred.count + this.#other.count;
  }

  /** Adds `input` to the next batch. Rejects with a `DatabaseError` when the database failed. */
  add(input: Input, owner: string, deadline: number, isAborted?: IsAborted): Promise<Output> {
    return new Promise((resolve, reject) => {
      const msLeft = deadline - performance.now();
      if (msLeft <= 0) throw tooLate("there is no time left");
      const queue = this.#kind.isPreferred?.(input) ? this.#preferred : this.#other;
      if (queue.count >= this.#maxWaiting) this.#makeRoom(queue, owner);
      const timer = setTimeout(() => {
        if (item.state === "waiting") queue.remove(owner, item);
        item.reject(item.state === "sent" ? noResponse() : tooLate("there was no turn in time"));
      }, msLeft);
      const settle = (): void => {
        item.state = "settled";
        clearTimeout(timer);
      };
      const item: Item<Input, Output> = {
        input,
        isAborted,
        state: "waiting",
        resolve: (output) => {
          settle();
          resolve(output);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      this.#latestDeadline = Math.max(this.#latestDeadline, deadline);
      queue.add(owner, item);
      this.#sendSoon();
    });
  }

  /** Refuses an input of another owner when the queue is full. Throws when `owner` itself must be refused. */
  #makeRoom(queue: BatchQueue<Item<Input, Output>>, owner: string): void {
    const evicted = queue.evictFor(owner);
    if (!evicted) throw queueFull();
    evicted.reject(queueFull());
  }

  /**
   * Sends at once when the last batch had one input. When it had several, more inputs are likely in this turn of the
   * event loop, so the batch is sent at the end of the turn.
   */
  #sendSoon(): void {
    if (this.#lastBatchSize <= 1) {
      this.#sendBatches();
    } else if (!this.#isSendScheduled) {
      this.#isSendScheduled = true;
      setImmediate(() => {
        this.#isSendScheduled = false;
        this.#sendBatches();
      });
    }
  }

  #sendBatches(): void {
    while (this.#canSend()) {
      const batch = this.#takeBatch();
      this.#lastBatchSize = batch.length;
      this.#launch(batch);
    }
  }

  #canSend(): boolean {
    const { fast, slow } = this.#flights;
    if (this.waiting === 0 || fast + slow >= this.#kind.inFlight) return false;
    return fast === 0 || this.waiting >= this.#maxBatch;
  }

  #takeBatch(): Item<Input, Output>[] {
    const batch: Item<Input, Output>[] = [];
    const keys = new Set<string>();
    const accept = ({ input }: Item<Input, Output>): boolean => {
      const key = this.#kind.keyOf?.(input) ?? null;
      if (key === null) return true;
      if (keys.has(key)) return false;
      keys.add(key);
      return true;
    };
    this.#preferred.moveInto(batch, this.#maxBatch - Math.min(this.#other.count, OTHER_SHARE), accept);
    this.#other.moveInto(batch, this.#maxBatch, accept);
    return batch;
  }

  /**
   * Sends a batch and tracks its phase: `fast`, then `slow` after `SLOW_MS`, then `over` when it ends or after
   * `HANG_MS`.
   */
  #launch(batch: readonly Item<Input, Output>[]): void {
    for (const item of batch) item.state = "sent";
    const flight: Flight = { phase: "fast", timer: setTimeout(() => this.#becomeSlow(flight), SLOW_MS) };
    this.#flights.fast++;
    void this.#send(batch).finally(() => this.#end(flight));
  }

  #becomeSlow(flight: Flight): void {
    this.#enter(flight, "slow");
    flight.timer = setTimeout(() => this.#end(flight), HANG_MS - SLOW_MS);
    this.#sendBatches();
  }

  #end(flight: Flight): void {
    clearTimeout(flight.timer);
    this.#enter(flight, "over");
    this.#sendBatches();
  }

  #enter(flight: Flight, phase: Flight["phase"]): void {
    this.#flights[flight.phase]--;
    this.#flights[phase]++;
    flight.phase = phase;
  }

  /** Runs a batch and settles its items. Never rejects. */
  async #send(batch: readonly Item<Input, Output>[]): Promise<void> {
    const msLeft = Math.max(1, this.#latestDeadline - performance.now());
    const runner = this.#runnerWithin(msLeft, () => batch.some(({ isAborted }) => isAborted?.()));
    this.#watcher?.batch(this.#kind.name, batch.length);
    try {
      const inputs = batch.map(({ input }) => input);
      const outputs = await this.#kind.run(runner, inputs);
      for (const [index, item] of batch.entries()) item.resolve(outputs[index] as Output);
    } catch (error) {
      await this.#handleFailure(batch, error);
    }
  }

  async #handleFailure(batch: readonly Item<Input, Output>[], error: unknown): Promise<void> {
    if (isAbort(error)) {
      const rest = batch.filter((item) => !item.isAborted?.());
      for (const item of batch) if (!rest.includes(item)) item.reject(error);
      if (rest.length > 0) await this.#send(rest);
    } else if (batch.length === 1 || error instanceof DatabaseError) {
      for (const item of batch) item.reject(error);
    } else {
      this.#watcher?.batchRetry(this.#kind.name);
      await Promise.all(batch.map((item) => this.#send([item])));
    }
  }
}
