/**
 * The databases of an installation: one, or its shards. Who has an id gets the database that has what the id names; what has no
 * tenant is done in each. The rest of the service does not know of shards.
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
  /** The database of a tenant. One of a shard that this process does not know refuses every statement. */
  ofTenant(tenantId: TenantId): Db;
  /** The databases in which a key id, or the token of a public URL, can be, the likely one first: see `findIn`. */
  ofKeyId(keyId: string): readonly Db[];
  ofToken(token: string): readonly Db[];
  /** Those in which a key id can be that no database of `ofKeyId` has: shards that were added a moment ago. */
  ofNewKeyId(keyId: string): Promise<readonly Db[]>;
  /** The database whose calls an avatar worker takes: see `shardOfWorkerId`. */
  ofWorker(workerId: string): Db;
  /** The database of the shard with this number; of any number, for one database. */
  ofShard(shard: number): Db;
  /** Calls back with each database, now, and with each that is new later. */
  each(start: (db: Db) => void): void;
  stats(): PoolStats;
  close(): Promise<void>;
};

/**
 * Finds something in the first of `databases` that has it; null when none does. One that fails does not hide what another one has. Its
 * error is thrown when no other has it.
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

/** The counts of several databases as those of one: of a length of time (`…Seconds`), the longest; of others, the sum. */
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
  // While one database is split, there are no shards yet.
  return all.length > 0 && (await Promise.all(all.map(isMigrated))).every(Boolean);
};

/** The counts of all databases together that respond within the time. Throws when none does. */
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
