/**
 * Concurrent work of one kind, gathered: while a batch is at the database, what comes meanwhile waits together, and goes
 * as the next. So the busier it is, the more each round trip carries; and on an idle service nothing waits. Another batch
 * goes beside it only when as many wait as fill one, since two that are half as large cost more than one; or when the
 * first takes long, whatever it waits for.
 *
 * Owners take turns: of each that waits, one goes at a time, so that the flood of one does not hold up another. A batch
 * that the database refuses for what is in it is done again one by one, so that what is wrong with one does not befall
 * its neighbours.
 *
 * What waits is bounded. When the queue is full, the owner with most of it gives way: its latest is refused for one of
 * an owner with less. A kind may have two queues, each with that bound, so that what is in one cannot fill the other.
 *
 * Input whose request has been aborted is never sent. The pool refuses a batch that has such input at the moment when it
 * would be sent; the rest of the batch is then sent without it.
 */
import { DatabaseError, HANGS_MS, isAbort, notExecuted } from "./errors.ts";
import type { IsAborted, Watcher } from "./watcher.ts";

/** A kind of work that can be gathered, as one statement. */
export type Gatherable<Input, Output> = {
  /** What it is called where it is watched. */
  name: string;
  /** Does all of it, and answers each in its place. */
  run(db: Runner, inputs: readonly Input[]): Promise<readonly Output[]>;
  /** How many batches are at the database at once, at most. */
  inFlight: number;
  /** How many inputs one batch has at most; `MAX_BATCH` when left out. */
  maxBatch?: number;
  /** What two inputs of one batch must not share; null when anything goes. */
  keyOf?(input: Input): string | null;
  /** Whether an input waits in the first queue, which is emptied before the other but for a share of each batch. */
  goesFirst?(input: Input): boolean;
};

/** What a statement needs of the database. */
export type Runner = {
  run<Row extends object>(text: string, parameters: readonly unknown[]): Promise<Row[]>;
};

/** A batch that takes so long does not keep another from going beside it. */
const SLOW_MS = 50;
/** So much later than the pool calls a connection hanging, what hangs is given up on here. */
const NOTICED_MS = 50;
/** So much goes in one batch at most. */
export const MAX_BATCH = 64;
/** So many places of each batch are for the second queue, while something waits there: it is slower, but never stops. */
export const SECOND_SHARE = 8;

type Item<Input, Output> = {
  input: Input;
  isSent: boolean;
  isAborted: IsAborted | undefined;
  resolve(output: Output): void;
  reject(error: unknown): void;
};

/** What waits, by owner; the owner whose turn it is comes first. */
type Queue<Input, Output> = { owners: Map<string, Set<Item<Input, Output>>>; count: number };

export type Gatherer<Input, Output> = {
  gather(input: Input, owner: string, deadline: number, isAborted?: IsAborted): Promise<Output>;
  /** How many wait at the moment. */
  waiting(): number;
};

const remove = <Input, Output>(
  queue: Queue<Input, Output>,
  owner: string,
  items: Set<Item<Input, Output>>,
  item: Item<Input, Output>,
): void => {
  if (items.delete(item)) queue.count--;
  if (items.size === 0) queue.owners.delete(owner);
};

const queueFull = (): DatabaseError => notExecuted("QUEUE_FULL", "too many wait already");

/**
 * Makes room in a full queue for one more of `owner`: refuses the latest item of the owner that has most. `false` when no
 * owner has more than `owner` would have.
 */
const makeRoom = <Input, Output>(queue: Queue<Input, Output>, owner: string): boolean => {
  // Each has one: the common case in a flood of unknown keys, told without a search.
  if (queue.owners.size === queue.count) return false;
  let most: [string, Set<Item<Input, Output>>] | null = null;
  for (const entry of queue.owners) if (!most || entry[1].size > most[1].size) most = entry;
  if (!most || most[1].size <= (queue.owners.get(owner)?.size ?? 0) + 1) return false;
  const latest = [...most[1]].at(-1);
  if (!latest) return false;
  remove(queue, ...most, latest);
  latest.reject(queueFull());
  return true;
};

/**
/**
 * Gathers what is given to it. `within` is the database with so many milliseconds for a statement, which is not sent when
 * `isAborted` says so at that moment; at most `maxWaiting` wait in each queue. Throws a `DatabaseError` for each that was
 * not executed, or may have been.
 */
export const createGatherer = <Input, Output>(
  { name, run, inFlight, maxBatch = MAX_BATCH, keyOf, goesFirst }: Gatherable<Input, Output>,
  within: (milliseconds: number, isAborted?: IsAborted) => Runner,
  maxWaiting: number,
  watcher: Watcher | null = null,
): Gatherer<Input, Output> => {
  const first: Queue<Input, Output> = { owners: new Map(), count: 0 };
  const second: Queue<Input, Output> = { owners: new Map(), count: 0 };
  const waiting = (): number => first.count + second.count;
  let running = 0;
  let slow = 0;
  let latest = 0;
  /** Whether the last batch was of more than one: then others will come in this turn of the event loop as well. */
  let isBusy = false;
  let isScheduled = false;

  const take = (): Item<Input, Output>[] => {
    const batch: Item<Input, Output>[] = [];
    const keys = new Set<string>();
    fill(batch, keys, first, maxBatch - Math.min(second.count, SECOND_SHARE));
    fill(batch, keys, second, maxBatch);
    return batch;
  };

  /** Moves items of `queue` into `batch` until that has `size`; an item whose key is in `keys` stays. */
  const fill = (batch: Item<Input, Output>[], keys: Set<string>, queue: Queue<Input, Output>, size: number): void => {
    const { owners } = queue;
    const keptBack: [string, Set<Item<Input, Output>>][] = [];
    const cursors = new Map<Set<Item<Input, Output>>, Iterator<Item<Input, Output>>>();
    /** The next of `items` that shares its key with nothing in the batch. What is passed over once stays so. */
    const nextOf = (items: Set<Item<Input, Output>>): Item<Input, Output> | undefined => {
      const cursor = cursors.get(items) ?? items.values();
      cursors.set(items, cursor);
      for (let { value: item, done } = cursor.next(); !done; { value: item, done } = cursor.next()) {
        const key = keyOf?.(item.input) ?? null;
        if (key !== null && keys.has(key)) continue;
        if (key !== null) keys.add(key);
        return item;
      }
      return undefined;
    };
    for (const [owner, items] of owners) {
      if (batch.length >= size) break;
      const item = nextOf(items);
      owners.delete(owner);
      if (!item) {
        keptBack.push([owner, items]);
        continue;
      }
      items.delete(item);
      queue.count--;
      batch.push(item);
      // Behind all others, where this loop comes by again.
      if (items.size > 0) owners.set(owner, items);
    }
    for (const [owner, items] of keptBack) owners.set(owner, items);
  };

  const send = async (batch: readonly Item<Input, Output>[]): Promise<void> => {
    const db = within(Math.max(1, latest - performance.now()), () => batch.some(({ isAborted }) => isAborted?.()));
    watcher?.batch(name, batch.length);
    try {
      const outputs = await run(
        db,
        batch.map(({ input }) => input),
      );
      for (const [index, item] of batch.entries()) item.resolve(outputs[index] as Output);
    } catch (error) {
      if (isAbort(error)) {
        const left = batch.filter((item) => !item.isAborted?.());
        for (const item of batch) if (!left.includes(item)) item.reject(error);
        if (left.length > 0) await send(left);
      } else if (batch.length === 1 || error instanceof DatabaseError) for (const item of batch) item.reject(error);
      else {
        watcher?.redone(name);
        await Promise.all(batch.map((item) => send([item])));
      }
    }
  };

  const flush = (): void => {
    while (waiting() > 0 && running < inFlight && (running === slow || waiting() >= maxBatch)) {
      const batch = take();
      isBusy = batch.length > 1;
      for (const item of batch) item.isSent = true;
      running++;
      let isSlow = false;
      let counts = true;
      const leave = (): void => {
        if (counts) {
          running--;
          if (isSlow) slow--;
        }
        counts = false;
        flush();
      };
      let timer = setTimeout(() => {
        isSlow = true;
        slow++;
        // One that hangs, as its connection may have silently gone, does not hold up those behind it. By then the pool
        // has noticed as well, and gives them no connection that may have gone the same way.
        timer = setTimeout(leave, HANGS_MS + NOTICED_MS - SLOW_MS);
        flush();
      }, SLOW_MS);
      void send(batch).finally(() => {
        clearTimeout(timer);
        leave();
      });
    }
  };

  const gather: Gatherer<Input, Output>["gather"] = (input, owner, deadline, isAborted) =>
    new Promise((resolve, reject) => {
      const left = deadline - performance.now();
      if (left <= 0) throw notExecuted("DEADLINE_EXCEEDED", "there is no time left");
      const queue = goesFirst?.(input) ? first : second;
      if (queue.count >= maxWaiting && !makeRoom(queue, owner)) throw queueFull();
      const timer = setTimeout(() => {
        if (item.isSent) {
          reject(new DatabaseError("outcome_unknown", "DEADLINE_EXCEEDED", "the database did not answer in time"));
          return;
        }
        remove(queue, owner, items, item);
        reject(notExecuted("DEADLINE_EXCEEDED", "there was no turn in time"));
      }, left);
      const item: Item<Input, Output> = {
        input,
        isSent: false,
        isAborted,
        resolve: (output) => {
          clearTimeout(timer);
          resolve(output);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      latest = Math.max(latest, deadline);
      const items = queue.owners.get(owner) ?? new Set();
      items.add(item);
      queue.owners.set(owner, items);
      queue.count++;
      if (!isBusy) flush();
      else if (!isScheduled) {
        isScheduled = true;
        setImmediate(() => {
          isScheduled = false;
          flush();
        });
      }
    });

  return { gather, waiting };
};
