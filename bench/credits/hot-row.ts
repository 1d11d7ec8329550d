/** The limit below credits: one conditional UPDATE of one row, whose rate is about one over the time of a commit. */
import type { Db } from "@realtime-avatar/db/connection/pool";
import { MUCH } from "./world.ts";

/** The script for pgbench. */
export const HOT_UPDATE = "update hot set balance = balance - 1 where id = 1 and balance >= 1;";

/** Creates the row of `HOT_UPDATE`. */
export const createHotRow = async (db: Db): Promise<void> => {
  await db.run("create table if not exists hot (id integer primary key, balance bigint) with (fillfactor = 50)", []);
  await db.run("insert into hot values (1, $1) on conflict do nothing", [MUCH]);
};

/** Additional time of a slow commit in microseconds. */
export const SLOW_COMMIT = 1000;

/** Makes each commit take `delay` microseconds more, however few transactions run. */
export const delayCommits = async (db: Db, delay: number): Promise<void> => {
  await db.run(`alter system set commit_delay = ${delay}`, []);
  await db.run("alter system set commit_siblings = 0", []);
  await db.run("select pg_reload_conf()", []);
};
