/** The sweeps of assets, of videos, of recordings and of webhooks, with their intervals. */

import { deleteGeneratedFiles, failAbandonedUploads } from "@realtime-avatar/db/assets/processing";
import { sweepConnectionHistories } from "@realtime-avatar/db/calls/connection-histories";
import { sweepKeptTranscripts } from "@realtime-avatar/db/calls/transcripts";
import type { Runner } from "@realtime-avatar/db/connection/batch";
import type { Databases } from "@realtime-avatar/db/databases/databases";
import { sweepRecordings } from "@realtime-avatar/db/recordings/joining";
import { failWaitingVideos } from "@realtime-avatar/db/videos/rendering";
import { announceExpiringKeys } from "@realtime-avatar/db/webhooks/expiring-keys";
import { sweepDeliveries } from "@realtime-avatar/db/webhooks/sending";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { Logger } from "@realtime-avatar/runtime/log";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { WorkerConfig } from "../config.ts";
import type { TemporaryFolders } from "../jobs/temporary-folders.ts";
import { deleteUnneededFiles } from "../recordings/unneeded-files.ts";
import { createObjectSweep } from "./objects.ts";
import type { Sweep } from "./schedule.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The maximum number of uploads that one statement fails. */
const UPLOADS = 250;
/** A write to the store without progress for this long was interrupted. */
const TEMPORARY_AGE_MS = 24 * HOUR_MS;

/** The maximum number of webhook deliveries that one statement deletes, and of keys that one announces. */
const WEBHOOKS = 500;

const DAY_MS = 24 * HOUR_MS;
/** The maximum number of videos that one statement ends, and of generated files that one deletes. */
const VIDEOS = 100;
/** The maximum number of kept transcripts that one statement deletes. Each has up to 2,000 rows. */
const TRANSCRIPTS = 100;

/** The maximum number of recordings that one statement expires, and of files of recordings that one look-up returns. */
const RECORDINGS = 100;
const FILES = 500;

const originNow = (random: RandomBytes) => {
  const now = new Date();
  return { actor: null, requestId: newRequestId(now, random), now, random };
};

/** Calls `pass` until it returns less than `limit`. Returns the sum. */
const untilFewer = async (limit: number, signal: AbortSignal, pass: () => Promise<number>): Promise<number> => {
  for (let all = 0; ; ) {
    const found = await pass();
    all += found;
    if (found < limit || signal.aborted) return all;
  }
};

const videoSweeps = (db: Runner, random: RandomBytes, maxAgeDays: number | null): Sweep[] => [
  {
    name: "videos that no worker has rendered",
    intervalMs: 10 * MINUTE_MS,
    run: (signal) => untilFewer(VIDEOS, signal, () => failWaitingVideos(db, VIDEOS, originNow(random))),
  },
  ...(maxAgeDays === null
    ? []
    : [
        {
          name: "generated files that are too old",
          intervalMs: HOUR_MS,
          run: (signal: AbortSignal) => {
            const createdBefore = new Date(Date.now() - maxAgeDays * DAY_MS);
            return untilFewer(VIDEOS, signal, () => deleteGeneratedFiles(db, VIDEOS, createdBefore, originNow(random)));
          },
        },
      ]),
];

/**
 * For how many days the data of calls and videos are kept. `generatedMaxAgeDays` null: until a request deletes them.
 */
export type Retention = Pick<WorkerConfig, "callRetentionDays" | "generatedMaxAgeDays">;

const recordingSweeps = (db: Runner, storage: Storage): Sweep[] => [
  {
    name: "recordings that are too old",
    intervalMs: 10 * MINUTE_MS,
    run: (signal) => untilFewer(RECORDINGS, signal, () => sweepRecordings(db, RECORDINGS)),
  },
  {
    // A deleted recording is gone within a minute.
    name: "files of recordings that nothing needs",
    intervalMs: MINUTE_MS / 2,
    run: (signal) => deleteUnneededFiles({ db, storage }, FILES, signal),
  },
];

/** The sweeps of each database. `storage`: the store of the files of recordings. */
export const rowSweeps = (db: Runner, random: RandomBytes, retention: Retention, storage: Storage): Sweep[] => [
  ...videoSweeps(db, random, retention.generatedMaxAgeDays),
  ...recordingSweeps(db, storage),
  {
    name: "kept transcripts and connection histories that are too old",
    intervalMs: HOUR_MS,
    run: async (signal) => {
      const before = new Date(Date.now() - retention.callRetentionDays * DAY_MS);
      const transcripts = await untilFewer(TRANSCRIPTS, signal, () => sweepKeptTranscripts(db, before, TRANSCRIPTS));
      const sweepHistories = () => sweepConnectionHistories(db, before, TRANSCRIPTS);
      return transcripts + (await untilFewer(TRANSCRIPTS, signal, sweepHistories));
    },
  },
  {
    name: "abandoned uploads",
    intervalMs: 10 * MINUTE_MS,
    run: (signal) => untilFewer(UPLOADS, signal, () => failAbandonedUploads(db, UPLOADS, originNow(random))),
  },
  {
    // Deliveries older than 30 days, and events that no delivery needs.
    name: "webhook deliveries",
    intervalMs: HOUR_MS,
    run: (signal) => untilFewer(WEBHOOKS, signal, () => sweepDeliveries(db, WEBHOOKS, new Date())),
  },
  {
    name: "keys that expire soon",
    intervalMs: 10 * MINUTE_MS,
    run: (signal) => untilFewer(WEBHOOKS, signal, () => announceExpiringKeys(db, WEBHOOKS)),
  },
];

export type SweepOptions = {
  databases: Databases;
  storage: Storage;
  log: Logger;
  metrics: Metrics | null;
  temporary: TemporaryFolders;
};

/** The sweeps of the store and the disk, which all databases share. */
export const fileSweeps = ({ databases, storage, log, metrics, temporary }: SweepOptions): Sweep[] => {
  const sweepObjects = createObjectSweep({ databases, storage, log });
  const counted = async (removing: Promise<number>): Promise<number> => {
    const removed = await removing;
    metrics?.filesSwept(removed);
    return removed;
  };
  return [
    { name: "files that nothing needs", intervalMs: 6 * HOUR_MS, run: (signal) => counted(sweepObjects(signal)) },
    {
      name: "interrupted writes of the store",
      intervalMs: HOUR_MS,
      run: () => counted(storage.sweepTemporary(new Date(Date.now() - TEMPORARY_AGE_MS))),
    },
    { name: "temporary folders", intervalMs: HOUR_MS, run: () => temporary.sweep(new Date()) },
  ];
};
