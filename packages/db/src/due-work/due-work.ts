/** The queues of apps/worker, asked together: an idle worker claims only from a queue that has due work. */
import { findDueWork as callFind } from "../../generated/functions.ts";
import type { Runner } from "../connection/batch.ts";

/** Each queue, and whether it has work that is due. */
export type DueWork = { jobs: boolean; deliveries: boolean; transcripts: boolean; recordings: boolean };
export type Queue = keyof DueWork;

/** Finds the queues that have due work. One statement, which reads one entry of an index for each queue. */
export const findDueWork = async (db: Runner): Promise<DueWork> => {
  const [row] = await callFind(db, {});
  return row as DueWork;
};
