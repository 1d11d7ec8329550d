import type { Connection } from "../server/connection.ts";

/** One place of the pool: an open connection and its times, in milliseconds on the clock of `performance.now()`. */
export type Slot = {
  readonly connection: Connection;
  readonly openedAt: number;
  /** When the server last responded. */
  respondedAt: number;
  /** When the running statement was sent; null while the connection is idle. */
  busySince: number | null;
};

export const newSlot = (connection: Connection, now: number): Slot => ({
  connection,
  openedAt: now,
  respondedAt: now,
  busySince: null,
});
