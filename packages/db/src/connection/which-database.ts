/** The settings that depend on the kind of a database: the only database of an installation, or one of its shards. */
import type { RandomBytes } from "@realtime-avatar/domain/id";
import { randomInShard } from "@realtime-avatar/domain/shards";
import type { Db } from "./pool.ts";

type Which = Pick<Db, "shard">;

/** Whether the installation has several databases. */
export const isOneOfSeveral = ({ shard }: Which): boolean => shard !== null;

/** A random source for all ids and tokens that are stored in this database. They carry the number of its shard. */
export const randomFor = ({ shard }: Which, random: RandomBytes): RandomBytes => randomInShard(random, shard);

/** The fields of a log line that name the database; none for the only one. */
export const logFields = ({ shard }: Which): { shard?: number } => (shard === null ? {} : { shard });

/** Returns a function from a database to its value. A value is created at its first use. */
export const forEachDatabase = <Value>(make: (db: Db) => Value): ((db: Db) => Value) => {
  const values = new Map<number | null, Value>();
  return (db) => {
    const value = values.get(db.shard) ?? make(db);
    values.set(db.shard, value);
    return value;
  };
};
