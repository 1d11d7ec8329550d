/**
 * The databases of an installation: one, or its shards. An id determines the database that stores its object. Work
 * without a tenant is done in each database. The other modules of the service are independent of shards.
 */
import type { TenantId } from "@realtime-avatar/domain/id";
import type { Shards } from "@realtime-avatar/domain/shards";
import type { Db } from "../connection/pool.ts";
import type { PoolStats } from "../connection/watcher.ts";
import { isMigrated } from "../migrate.ts";

export type Databases = {
  /** The shards; null for one database. */
  shards(): Shards | null;
  readonly deadlineMs: number;
  all(): readonly Db[];
  /** The database of a tenant. If this process does not know the shard, the database refuses every statement. */
  ofTenant(tenantId: TenantId): Db;
  /** The databases that can have a key id, or the token of a public URL, the likely one first: see `findIn`. */
  ofKeyId(keyId: string): readonly Db[];
  ofToken(token: string): readonly Db[];
  /** Recently added shards, which can have a key id that no database of `ofKeyId` has. */
  ofNewKeyId(keyId: string): Promise<readonly Db[]>;
  /** The database whose calls an avatar worker takes: see `shardOfWorkerId`. */
  ofWorker(workerId: string): Db;
  /** The database of the shard with this number. An installation with one database returns it for any number. */
  ofShard(shard: number): Db;
  /** Calls `start` with each database now, and with each new database later. */
  each(start: (db: Db) => void): void;
  stats(): PoolStats;
  close(): Promise<void>;
};

/**
 * Finds something in the first of `databases` that has it; null when no database does. A database that fails does not
 * hide the result of another one. Its error is thrown when no other database has a result.
 */
export const findIn = async <Found>(
  databases: readonly Db[],
  find: (db: Db) => Promise<Found | null>,
): Promise<Found | null> => {
  let failure: { error: unknown } | null = null;
  for (const db of databases) {
    try {
      const found = await find(db);
      if (found !== null) return found;
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure) throw failure.error;
  return null;
};

/**
 * Combines the counts of several databases: the maximum of each length of time (its name ends in `Seconds`), the sum of
 * the others.
 */
export const combined = <Counts extends object>(all: readonly Counts[]): Counts => {
  const result: Record<string, unknown> = {};
  for (const [name, value] of all.flatMap((counts) => Object.entries(counts))) {
    const before = result[name];
    if (typeof value !== "number") result[name] = value ?? before ?? null;
    else if (name.endsWith("Seconds")) result[name] = Math.max(Number(before ?? 0), value);
    else result[name] = Number(before ?? 0) + value;
  }
  return result as Counts;
};

/** Whether every database has the migrations and the functions of this program. */
export const areMigrated = async (databases: Databases): Promise<boolean> => {
  const all = databases.all();
  // While one database is being split, no shard exists yet.
  return all.length > 0 && (await Promise.all(all.map(isMigrated))).every(Boolean);
};

/** The combined counts of all databases that respond within the time. Throws when no database does. */
export const readAll = async <Counts extends object>(
  databases: Databases,
  read: (db: Db) => Promise<Counts>,
  milliseconds: number,
): Promise<Counts> => {
  const results = await Promise.allSettled(databases.all().map((db) => read(db.within(milliseconds))));
  const counts = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const [first] = results;
  if (counts.length === 0 && first?.status === "rejected") throw first.reason;
  return combined(counts);
};

export const oneDatabase = (db: Db): Databases => {
  const all = [db];
  return {
    shards: () => null,
    deadlineMs: db.deadlineMs,
    all: () => all,
    ofTenant: () => db,
    ofKeyId: () => all,
    ofToken: () => all,
    ofNewKeyId: async () => [],
    ofWorker: () => db,
    ofShard: () => db,
    each: (start) => start(db),
    stats: db.stats,
    close: db.close,
  };
};
