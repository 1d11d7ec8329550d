/** Health checks of a process: liveness and readiness. */

import { DatabaseError } from "@realtime-avatar/db/connection/errors";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { isMigrated } from "@realtime-avatar/db/migrate";
import { isReadOnly } from "@realtime-avatar/db/open";

/** Timeout of the check of the database. After it, the process is not ready. */
const DEADLINE_MS = 2000;

/** The reasons why a process is not ready. docs/operations.md says what to do. */
export const UNAVAILABLE_REASONS = [
  "database_unreachable",
  "database_read_only",
  "migrations_pending",
  "shutting_down",
] as const;
type UnavailableReason = (typeof UNAVAILABLE_REASONS)[number];

/** The result of a check; every status except `ok` is sent as 503. */
export type Health = { status: "ok" } | { status: "unavailable"; reason: UnavailableReason };

export const healthStatus = ({ status }: Health): 200 | 503 => (status === "ok" ? 200 : 503);

/** Liveness: the process runs. Checks no dependency. */
export const live = (): Health => ({ status: "ok" });

const unavailable = (reason: UnavailableReason): Health => ({ status: "unavailable", reason });

const check = async (db: Db): Promise<Health> => {
  const limited = db.within(DEADLINE_MS);
  try {
    if (await isReadOnly(limited)) return unavailable("database_read_only");
    return (await isMigrated(limited)) ? { status: "ok" } : unavailable("migrations_pending");
  } catch (error) {
    // The pool itself rejects a connection to a read-only server or a standby.
    const isRefused = error instanceof DatabaseError && ["READ_ONLY", "STANDBY"].includes(error.code);
    return unavailable(isRefused ? "database_read_only" : "database_unreachable");
  }
};

/** How long the check waits for the other databases once one is ready. */
const OTHERS_MS = 250;

/**
 * A failed database leaves the others in service: only its tenants get 503. Pending migrations of any database make the
 * process unready.
 */
const checkAll = async (all: readonly Db[]): Promise<Health> => {
  const results: Health[] = [];
  const ready = Promise.withResolvers<void>();
  const checking = all.map(async (db) => {
    const health = await check(db);
    results.push(health);
    if (health.status === "ok") ready.resolve();
  });
  await Promise.race([Promise.all(checking), ready.promise.then(() => Bun.sleep(OTHERS_MS))]);
  const pending = results.find((health) => health.status !== "ok" && health.reason === "migrations_pending");
  return pending ?? results.find(({ status }) => status === "ok") ?? results[0] ?? unavailable("migrations_pending");
};

/** Checks in progress. Concurrent callers share one, so that frequent checks stay cheap. */
const checks = new WeakMap<Databases, Promise<Health>>();

/**
 * Readiness: the database responds and is writable, its schema is current, and the process is not shutting down. If a
 * shutdown begins during the check, the process is not ready, because a load balancer relies on the result for its
 * whole interval.
 */
export const ready = async (databases: Databases, isEnding: () => boolean): Promise<Health> => {
  if (isEnding()) return unavailable("shutting_down");
  const pendingCheck = checks.get(databases) ?? checkAll(databases.all()).finally(() => checks.delete(databases));
  checks.set(databases, pendingCheck);
  const health = await pendingCheck;
  return isEnding() ? unavailable("shutting_down") : health;
};
