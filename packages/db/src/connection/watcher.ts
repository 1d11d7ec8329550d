/** Events and counters for metrics. They carry kinds, counts and times, never values of a row. */

/** The outcome of a statement. `refused`: the server rejected its content, for instance by a constraint. */
export type StatementOutcome = "done" | "refused" | "not_executed" | "outcome_unknown";

/** Receives events as they happen. Its methods must return quickly and must not throw. */
export type Watcher = {
  /** The statement `name` ended after this time at the server. */
  statement(name: string, milliseconds: number, outcome: StatementOutcome): void;
  /** A batch of this kind was sent, with `size` inputs in one statement. */
  batch(kind: string, size: number): void;
  /** A batch of this kind was refused because of its content, and is sent again one input at a time. */
  batchRetry(kind: string): void;
};

/** Counters of a pool at this moment. The names of the fields are label values of metrics. */
export type PoolStats = {
  connections: { open: number; busy: number; hanging: number; maximum: number };
  /** `statements`: those that wait for a connection. `batched`: the inputs that wait for a batch. */
  waiting: { statements: number; batched: number };
};
