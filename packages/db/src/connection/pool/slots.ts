/**
 * The open connections of a pool. Each runs one statement at a time and takes the next one from the queue. A connection
 * is opened when a statement waits for it, and discarded at the first doubt. The only background work is to open a
 * connection for a waiting statement.
 */

import {
  databaseFailure,
  hasShardMoved,
  isConnectionUsable,
  isPlanOutdated,
  isStatementForgotten,
  toStatementError,
} from "../errors.ts";
import type { Connection } from "../server/connection.ts";
import type { Host } from "../server/hosts.ts";
import type { PoolStats, StatementOutcome, Watcher } from "../watcher.ts";
import { countHanging, hasRespondedLately, maxOpen } from "./hang.ts";
import type { StatementJob, StatementQueue } from "./queue.ts";
import { newSlot, type Slot } from "./slot.ts";

/** The pause after a failed attempt to connect. The next attempt follows if a statement still waits. */
const RETRY_MS = 250;
/** An older connection is replaced when it is idle, because the memory of its server process only grows. */
const LIFETIME_MS = 30 * 60_000;
/** The interval of the check whether a connection may be opened for waiting statements. */
const RECHECK_MS = 100;
/** The maximum time for which closing waits for running statements. */
const CLOSE_MS = 1000;
const CLOSE_POLL_MS = 5;

/** Opens a connection to the primary. `onClose` is called once, when a connection that was opened ends. */
export type OpenConnection = (onClose: () => void) => Promise<Connection>;

export class Slots {
  readonly #open: OpenConnection;
  readonly #queue: StatementQueue;
  readonly #maxConnections: number;
  readonly #watcher: Watcher | null;
  readonly #hosts: (() => readonly Host[]) | null;

  readonly #slots = new Set<Slot>();
  /** The last one was used most recently, and is used next. */
  readonly #idle: Slot[] = [];
  /** How many connections are being opened. */
  #opening = 0;
  /** After a failed attempt, no connection is opened before this time; 0 after a successful one. */
  #retryAt = 0;
  #growTimer: Timer | null = null;
  /** Connections opened before this time hold query plans from before a schema change. */
  #plansValidSince = 0;
  #isClosed = false;

  /** `hosts`: the current servers; null when they never change. */
  constructor(
    open: OpenConnection,
    queue: StatementQueue,
    maxConnections: number,
    watcher: Watcher | null,
    hosts: (() => readonly Host[]) | null,
  ) {
    this.#open = open;
    this.#queue = queue;
    this.#maxConnections = maxConnections;
    this.#watcher = watcher;
    this.#hosts = hosts;
  }

  /** Whether the server of the connection is no longer one of the current servers. */
  #hasMoved({ connection: { host } }: Slot): boolean {
    return this.#hosts !== null && !this.#hosts().some((one) => one.host === host.host && one.port === host.port);
  }

  /**
   * Removes and returns an idle connection. While another connection hangs, discards idle ones that may be lost as
   * well.
   */
  takeIdle(): Slot | undefined {
    if (this.#idle.length === 0) return undefined;
    const now = performance.now();
    const isAnyHanging = countHanging(this.#slots, now) > 0;
    for (let slot = this.#idle.pop(); slot; slot = this.#idle.pop()) {
      if ((!isAnyHanging || hasRespondedLately(slot, now)) && !this.#hasMoved(slot)) return slot;
      this.discard(slot);
    }
    return undefined;
  }

  /** Runs `job` on `slot` and settles it, then gives the slot its next job. */
  async run(slot: Slot, job: StatementJob): Promise<void> {
    job.state = { kind: "running", slot };
    const startedAt = performance.now();
    slot.busySince = startedAt;
    let outcome: StatementOutcome = "done";
    try {
      job.resolve(await slot.connection.run(job.text, job.parameters));
    } catch (error) {
      outcome = this.#handleFailure(slot, job, error);
    }
    slot.busySince = null;
    slot.respondedAt = performance.now();
    this.#watcher?.statement(job.name, slot.respondedAt - startedAt, outcome);
    if (this.#slots.has(slot)) this.#release(slot);
  }

  /**
   * Rejects the job, or queues it once more if the server has forgotten its prepared statement or the shard has moved.
   */
  #handleFailure(slot: Slot, job: StatementJob, error: unknown): StatementOutcome {
    if (isPlanOutdated(error)) this.#discardOutdated(slot);
    const isForgotten = isStatementForgotten(error);
    let outcome: StatementOutcome = "not_executed";
    if ((isForgotten || hasShardMoved(error)) && !job.isRerun) {
      job.isRerun = true;
      job.state = { kind: "waiting" };
      this.#queue.add(job);
    } else {
      const failure = toStatementError(error);
      outcome = databaseFailure(failure) ?? "refused";
      job.reject(failure);
    }
    if (!isConnectionUsable(error) || isForgotten) this.discard(slot);
    return outcome;
  }

  /** Ends a connection. A running statement is cancelled, and a new connection is opened if a statement waits. */
  discard(slot: Slot): void {
    if (!this.#slots.delete(slot)) return;
    const index = this.#idle.indexOf(slot);
    if (index >= 0) this.#idle.splice(index, 1);
    slot.connection.abandon();
    this.grow();
  }

  /**
   * Discards every connection that was opened before the schema changed: idle ones now, busy ones when they are
   * released. A statement is run at most twice, so the next connection must not also have an outdated plan.
   */
  #discardOutdated(slot: Slot): void {
    if (slot.openedAt < this.#plansValidSince) return;
    this.#plansValidSince = performance.now();
    for (const idle of [...this.#idle]) this.discard(idle);
  }

  /** Gives a slot its next job, or keeps it idle, or discards it if it is too old or surplus. */
  #release(slot: Slot): void {
    const now = performance.now();
    const isOld = now - slot.openedAt > LIFETIME_MS || slot.openedAt < this.#plansValidSince || this.#hasMoved(slot);
    // Usually the first comparison decides, so that nothing has to be counted.
    const isSurplus = this.#slots.size > this.#maxConnections && this.#slots.size > this.#maxOpen(now);
    if (this.#isClosed || isOld || isSurplus) {
      this.discard(slot);
      return;
    }
    const job = this.#queue.next();
    if (job) void this.run(slot, job);
    else this.#idle.push(slot);
  }

  #maxOpen(now: number): number {
    return maxOpen(this.#maxConnections, countHanging(this.#slots, now));
  }

  /** Opens a connection for each statement that waits. While the database cannot be reached, opens one at a time. */
  grow(): void {
    while (!this.#isClosed && this.#opening < this.#queue.size) {
      const now = performance.now();
      const msToRetry = this.#retryAt - now;
      const isProbing = this.#retryAt > 0 && this.#opening > 0;
      if (isProbing || msToRetry > 0 || this.#slots.size + this.#opening >= this.#maxOpen(now)) {
        this.#growLater(Math.max(msToRetry, RECHECK_MS));
        return;
      }
      this.#openSlot();
    }
  }

  #growLater(milliseconds: number): void {
    this.#growTimer ??= setTimeout(() => {
      this.#growTimer = null;
      this.grow();
    }, milliseconds);
  }

  #openSlot(): void {
    this.#opening++;
    let slot: Slot | null = null;
    this.#open(() => slot && this.discard(slot))
      .then(
        (connection) => {
          this.#retryAt = 0;
          slot = newSlot(connection, performance.now());
          this.#slots.add(slot);
          this.#release(slot);
        },
        (error: unknown) => this.#handleOpenFailure(error),
      )
      .finally(() => {
        this.#opening--;
        this.grow();
      });
  }

  #handleOpenFailure(error: unknown): void {
    this.#retryAt = performance.now() + RETRY_MS;
    // Other connections can still serve the queue. Without any connection, the statements fail now, because
    // reconnecting may take long.
    if (this.#slots.size === 0 && this.#opening === 1) {
      this.#queue.rejectAll(error instanceof Error && "code" in error ? String(error.code) : "CONNECTION_FAILED");
    }
  }

  stats(): PoolStats["connections"] {
    return {
      open: this.#slots.size,
      busy: this.#slots.size - this.#idle.length,
      hanging: countHanging(this.#slots, performance.now()),
      maximum: this.#maxConnections,
    };
  }

  /** Rejects the queue, waits up to `CLOSE_MS` for running statements, then ends every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#growTimer) clearTimeout(this.#growTimer);
    this.#queue.rejectAll("CONNECTION_ENDED");
    for (const slot of [...this.#idle]) this.discard(slot);
    const end = performance.now() + CLOSE_MS;
    while (this.#slots.size > 0 && performance.now() < end) await Bun.sleep(CLOSE_POLL_MS);
    for (const slot of [...this.#slots]) this.discard(slot);
  }
}
