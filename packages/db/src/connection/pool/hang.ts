/**
 * Detection of connections that hang. A network that drops packets, or a frozen server, closes no connection: a
 * statement then simply never returns. `statement_timeout` does not help, because the server enforces it.
 */
import type { Slot } from "./slot.ts";

/** A statement that takes longer may never return: its connection may be lost, or it may wait for a lock. */
export const HANG_AFTER_MS = 1000;

/** How many connections have run one statement for longer than `HANG_AFTER_MS`. */
export const countHanging = (slots: Iterable<Slot>, now: number): number => {
  const latest = now - HANG_AFTER_MS;
  let count = 0;
  for (const { busySince } of slots) if (busySince !== null && busySince < latest) count++;
  return count;
};

/**
 * How many connections may be open. Each connection that hangs may be replaced, so that a lost network path does not
 * stop the service. At most `maxConnections` are replaced, so that statements that wait for a lock cannot use up the
 * server's connections.
 */
export const maxOpen = (maxConnections: number, hanging: number): number =>
  maxConnections + Math.min(hanging, maxConnections);

/**
 * Whether the server has responded on this connection lately. While one connection hangs, an idle connection that was
 * silent for as long may be lost in the same way. The next request would lose its time on it.
 */
export const hasRespondedLately = ({ respondedAt }: Slot, now: number): boolean => respondedAt >= now - HANG_AFTER_MS;
