/** What the database tells of itself while it works, to whoever watches: of kinds and times, never of values. */

/** How a statement came to its end; `refused` is the server's own refusal of what is in it. */
export type Ending = "done" | "refused" | "not_executed" | "outcome_unknown";

/** Told of what happens, as it happens. It must not throw, and must not take long. */
export type Watcher = {
  /** A statement was at the server for so long, in milliseconds. */
  statement(milliseconds: number, ending: Ending): void;
  /** So many of this kind went as one statement. */
  batch(kind: string, size: number): void;
  /** A batch of this kind was refused for what is in it, and is done again one by one. */
  redone(kind: string): void;
};

/** How it stands at the moment. */
export type Standing = {
  connections: { open: number; busy: number; hanging: number; maximum: number };
  /** Statements that wait for a connection, and what waits to be gathered. */
  waiting: { statements: number; gathered: number };
};

/** Whether a request has been aborted: nobody reads its response, so nothing of it may be sent to the database. */
export type IsAborted = () => boolean;

/** Part of a request's work, as it has ended: its kind, when it began, as of `performance.now()`, and what it threw. */
export type OnWork = (kind: string, startedAt: number, error: unknown) => void;
