/** What the tests of preparations share: a world for each test, and job loops in it. */
import { readdir } from "node:fs/promises";
import { type AvatarChanges, updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { random } from "@realtime-avatar/testing/random-bytes";
import { originOf } from "@realtime-avatar/testing/seeds";
import { createTemporaryFolders } from "../../src/assets/temporary.ts";
import type { JobHandler } from "../../src/jobs/handler.ts";
import { type JobLoop, startJobLoop } from "../../src/jobs/loop.ts";
import { JOB_TIMING } from "../../src/jobs/run-job.ts";
import { createPrepareAvatar, type PrepareOptions } from "../../src/preparation/prepare.ts";
import type { AvatarState } from "./avatars.ts";
import { accept } from "./examination.ts";
import { eachWorld, noise, unexpected, type World } from "./world.ts";

type StartOptions = Partial<PrepareOptions> & {
  /** The pause before the second attempt. */
  retrySeconds?: number;
  metrics?: Metrics;
  /** By default, no test has a job of this kind. */
  processAsset?: JobHandler;
};

const loopIn = ({ database, storage, log, temporary }: World, options: StartOptions): JobLoop => {
  const { retrySeconds = 3600, metrics = null, processAsset = unexpected, ...others } = options;
  const parts = { db: database.db, storage, log, random, temporary: createTemporaryFolders(temporary) };
  return startJobLoop({
    ...parts,
    handlers: {
      process_asset: processAsset,
      prepare_avatar: createPrepareAvatar({ ...parts, examine: accept, ...others }),
    },
    metrics,
    concurrency: 2,
    slotsPerTenant: 2,
    timing: { ...JOB_TIMING, retrySeconds },
  });
};

/** Opens a world before each test of the file, and ends it and its job loops afterwards. */
export const preparationTests = () => {
  const loops: JobLoop[] = [];
  const stopAll = async (): Promise<void> => {
    await Promise.all(loops.splice(0).map((loop) => loop.stop()));
  };
  const world = eachWorld(stopAll);
  return {
    world,
    /** Starts a worker's job loop. */
    start: (options: StartOptions = {}): void => void loops.push(loopIn(world, options)),
    stopAll,
    /** Writes an avatar whose source is ready. */
    seed: async (): Promise<AvatarRecord> => world.seedAvatar((await world.seedReady(await noise())).id),
    /** Waits until the avatar has no job, or its job waits for its next attempt, and returns the state. */
    settled: async (avatar: AvatarRecord): Promise<AvatarState> => {
      for (;;) {
        const state = await world.currentOf(avatar);
        const held = await world.database.db.client`
          select 1 from jobs where target_id = ${avatar.id} and lease is not null`;
        if (state.attempts === null || (state.lastError !== null && held.length === 0)) return state;
        await Bun.sleep(10);
      }
    },
    /** Changes an avatar as PATCH and DELETE do. */
    change: async (avatar: AvatarRecord, changes: AvatarChanges): Promise<void> => {
      const statuses = ["preprocessing", "ready"] as const;
      const provided = { versions: null, statuses, jobId: newId("job", new Date(), random) };
      const { caller, database } = world;
      const { kind } = await updateAvatar(database.db, avatar.id, changes, provided, caller, originOf(caller));
      if (kind !== "written") throw new Error(`the avatar was not changed: ${kind}`);
    },
    /** Waits until the job loops have ended so many jobs, in all. */
    ended: async (count = 1): Promise<void> => {
      while (world.lines.filter(({ msg }) => msg === "a job has ended").length < count) await Bun.sleep(10);
    },
    /** Waits until no job has a temporary folder. */
    removed: async (): Promise<void> => {
      while ((await readdir(world.temporary)).length > 0) await Bun.sleep(10);
    },
    auditOf: async ({ id }: AvatarRecord): Promise<string[]> => {
      const events = await world.database.db
        .client`select action from audit_events where target_id = ${id} order by id`;
      return events.map(({ action }) => action);
    },
  };
};
