/** The sweeps of assets and of webhook deliveries: what they remove, and how often. */
import type { Runner } from "@realtime-avatar/db/connection/batch";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { failAbandonedUploads } from "@realtime-avatar/db/jobs/jobs";
import { sweepDeliveries } from "@realtime-avatar/db/webhooks/sending";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import { createObjectSweep } from "./objects.ts";
import type { Sweep } from "./schedule.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Uploads that one statement fails at most. */
const UPLOADS = 250;
/** A write to the store that has not moved for so long was interrupted. */
const TEMPORARY_AGE_MS = 24 * HOUR_MS;

/** Webhook deliveries that one statement deletes at most: some 20 ms of the database. */
const DELIVERIES = 500;

/** Deliveries of webhooks that are older than 30 days, and the events that no delivery needs. */
export const deliverySweep = (db: Runner): Sweep => ({
  name: "webhook deliveries",
  intervalMs: HOUR_MS,
  run: async (signal) => {
    for (let all = 0; ; ) {
      const swept = await sweepDeliveries(db, DELIVERIES, new Date());
      all += swept;
      if (swept < DELIVERIES || signal.aborted) return all;
    }
  },
});

export type SweepOptions = {
  db: Db;
  storage: Storage;
  log: Logger;
  random: RandomBytes;
  metrics: Metrics | null;
  temporary: TemporaryFolders;
};

export const assetSweeps = ({ db, storage, log, random, metrics, temporary }: SweepOptions): Sweep[] => {
  const sweepObjects = createObjectSweep({ db, storage, log });
  const counted = async (removing: Promise<number>): Promise<number> => {
    const removed = await removing;
    metrics?.filesSwept(removed);
    return removed;
  };
  return [
    {
      name: "abandoned uploads",
      intervalMs: 10 * MINUTE_MS,
      run: async (signal) => {
        for (let all = 0; ; ) {
          const now = new Date();
          const origin = { actor: null, requestId: newRequestId(now, random), now, random };
          const ended = await failAbandonedUploads(db, UPLOADS, origin);
          all += ended;
          if (ended < UPLOADS || signal.aborted) return all;
        }
      },
    },
    { name: "files that nothing needs", intervalMs: 6 * HOUR_MS, run: (signal) => counted(sweepObjects(signal)) },
    {
      name: "interrupted writes of the store",
      intervalMs: HOUR_MS,
      run: () => counted(storage.sweepTemporary(new Date(Date.now() - TEMPORARY_AGE_MS))),
    },
    { name: "temporary folders", intervalMs: HOUR_MS, run: () => temporary.sweep(new Date()) },
  ];
};
