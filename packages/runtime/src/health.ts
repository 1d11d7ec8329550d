/** The two questions that whoever runs a process asks it: does it live, and can it work? */

import { DatabaseError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { isReadOnly } from "@realtime-avatar/db/open";

/** How long the database may take to answer before the process calls itself unready. */
const DEADLINE_MS = 2000;

/** An answer to one of the questions; anything but `ok` is 503. */
export type Health =
  | { status: "ok" }
  | {
      status: "unavailable";
      reason: "shutting_down" | "database_unreachable" | "database_read_only" | "migrations_pending";
    };

export const healthStatus = ({ status }: Health): 200 | 503 => (status === "ok" ? 200 : 503);

/** The process lives; it asks nobody else. */
export const live = (): Health => ({ status: "ok" });

const unavailable = (reason: Extract<Health, { reason: string }>["reason"]): Health => ({
  status: "unavailable",
  reason,
});

const check = async (db: Db): Promise<Health> => {
  const limited = db.within(DEADLINE_MS);
  try {
    if (await isReadOnly(limited)) return unavailable("database_read_only");
    return (await isMigrated(limited)) ? { status: "ok" } : unavailable("migrations_pending");
  } catch (error) {
    // A new connection to such a server is refused before its first statement.
    const isRefused = error instanceof DatabaseError && ["READ_ONLY", "STANDBY"].includes(error.code);
    return unavailable(isRefused ? "database_read_only" : "database_unreachable");
  }
};

/** The checks that are under way: whoever asks meanwhile gets the same answer, so that asking often costs nothing. */
const checks = new WeakMap<Db, Promise<Health>>();

/** The process can work, and is going to: the database answers, its schema is up to date, and nobody has ended it. */
export const ready = async (db: Db, isEnding: boolean): Promise<Health> => {
  if (isEnding) return { status: "unavailable", reason: "shutting_down" };
  const checking = checks.get(db) ?? check(db).finally(() => checks.delete(db));
  checks.set(db, checking);
  return checking;
};
