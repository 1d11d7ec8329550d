/** Statements that wait for a connection. */
import { aborted, notExecuted } from "./errors.ts";
import type { IsAborted } from "./request-limit.ts";
import type { Slot } from "./slot.ts";

/**
 * `started`: a statement of a request that has already had one. It goes before the first statement of a `new` request.
 * Otherwise, under load, most requests would be authenticated and then time out before they can do anything.
 */
export type Priority = "started" | "new";

export type StatementJob = {
  readonly text: string;
  readonly parameters: readonly unknown[];
  readonly isAborted: IsAborted | undefined;
  priority: Priority;
  state: { kind: "waiting" } | { kind: "running"; slot: Slot };
  /** Whether this is the second attempt, after the server had lost the prepared statement. There is no third. */
  isRerun: boolean;
  resolve(rows: object[]): void;
  reject(error: unknown): void;
};

export class StatementQueue {
  readonly #waiting: Record<Priority, Set<StatementJob>> = { started: new Set(), new: new Set() };
  readonly #maxWaiting: number;

  /** At most `maxWaiting` jobs are accepted for each priority. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  get size(): number {
    return this.#waiting.started.size + this.#waiting.new.size;
  }

  hasRoom(priority: Priority): boolean {
    return this.#waiting[priority].size < this.#maxWaiting;
  }

  add(job: StatementJob): void {
    this.#waiting[job.priority].add(job);
  }

  remove(job: StatementJob): void {
    this.#waiting[job.priority].delete(job);
  }

  /** Removes and returns the next job. Rejects those before it whose request has been aborted. */
  next(): StatementJob | undefined {
    for (const jobs of [this.#waiting.started, this.#waiting.new]) {
      for (const job of jobs) {
        jobs.delete(job);
        if (!job.isAborted?.()) return job;
        job.reject(aborted());
      }
    }
    return undefined;
  }

  /** Rejects every job: none has been sent. */
  rejectAll(code: string): void {
    for (let job = this.next(); job; job = this.next()) {
      job.reject(notExecuted(code, "there is no connection to the database"));
    }
  }
}
