/** Statements that wait for a connection. */
import { aborted, notExecuted } from "../errors.ts";
import type { IsAborted } from "../request-limit.ts";
import type { Slot } from "./slot.ts";

export type StatementJob = {
  readonly text: string;
  readonly parameters: readonly unknown[];
  /** The name of the statement in metrics and logs. */
  readonly name: string;
  readonly isAborted: IsAborted | undefined;
  state: { kind: "waiting" } | { kind: "running"; slot: Slot };
  /** Whether this is the second attempt, after the server had lost the prepared statement. No third attempt follows. */
  isRerun: boolean;
  resolve(rows: object[]): void;
  reject(error: unknown): void;
};

/** The queue is served in order. */
export class StatementQueue {
  readonly #waiting = new Set<StatementJob>();
  readonly #maxWaiting: number;

  /** `maxWaiting`: the maximum number of waiting jobs. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  get size(): number {
    return this.#waiting.size;
  }

  hasRoom(): boolean {
    return this.#waiting.size < this.#maxWaiting;
  }

  add(job: StatementJob): void {
    this.#waiting.add(job);
  }

  remove(job: StatementJob): void {
    this.#waiting.delete(job);
  }

  /** Removes and returns the next job. Rejects earlier jobs whose request was aborted. */
  next(): StatementJob | undefined {
    for (const job of this.#waiting) {
      this.#waiting.delete(job);
      if (!job.isAborted?.()) return job;
      job.reject(aborted());
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
