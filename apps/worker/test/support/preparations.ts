/** Helpers for the tests of preparations: a world for each test, and job loops in it. */
import { type AvatarChanges, updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { newId } from "@realtime-avatar/domain/id";
import type { Metrics } from "@realtime-avatar/runtime/metrics";
import { random } from "@realtime-avatar/testing/random-bytes";
import { seedOrigin } from "@realtime-avatar/testing/seeds";
import { until } from "@realtime-avatar/testing/until";
import type { JobHandler } from "../../src/jobs/handler.ts";
import { createPrepareAvatar, type PrepareOptions } from "../../src/preparation/prepare.ts";
import type { AvatarState } from "./avatars.ts";
import { accept } from "./source-checks.ts";
import { eachWorld, noise } from "./world.ts";

type StartOptions = Partial<PrepareOptions> & {
  /** The pause before the second attempt. */
  retrySeconds?: number;
  metrics?: Metrics;
  /** By default, no test has a job of this kind. */
  processAsset?: JobHandler;
};

/** Opens a world before each test of the file, and ends it afterwards. */
export const preparationTests = () => {
  const world = eachWorld();
  return {
    world,
    /** Starts a worker's job loop. */
    start: ({ retrySeconds = 3600, metrics, processAsset, ...others }: StartOptions = {}): void => {
      const prepare = createPrepareAvatar({ ...world.parts(), checkSource: accept, ...others });
      const handlers = { prepare_avatar: prepare, ...(processAsset && { process_asset: processAsset }) };
      world.loop(handlers, { timing: { retrySeconds }, metrics: metrics ?? null });
    },
    /** Writes an avatar whose source is ready. */
    seed: async (): Promise<AvatarRecord> => world.seedAvatar((await world.seedReady(await noise())).id),
    /** Waits until the avatar has no job, or its job waits for its next attempt, and returns the state. */
    settled: (avatar: AvatarRecord): Promise<AvatarState> =>
      until(
        async () => {
          const state = await world.currentOf(avatar);
          const held = await world.database.db.client`
            select 1 from jobs where target_id = ${avatar.id} and lease is not null`;
          return (state.attempts === null || (state.lastError !== null && held.length === 0)) && state;
        },
        { state: () => world.currentOf(avatar) },
      ),
    /** Changes an avatar like PATCH and DELETE. */
    change: async (avatar: AvatarRecord, changes: AvatarChanges): Promise<void> => {
      const statuses = ["preprocessing", "ready"] as const;
      const provided = { versions: null, statuses, jobId: newId("job", new Date(), random) };
      const { caller, database } = world;
      const { kind } = await updateAvatar(database.db, avatar.id, changes, provided, caller, seedOrigin(caller));
      if (kind !== "written") throw new Error(`the avatar was not changed: ${kind}`);
    },
    auditOf: async ({ id }: AvatarRecord): Promise<string[]> => {
      const events = await world.database.db
        .client`select action from audit_events where target_id = ${id} order by id`;
      return events.map(({ action }) => action);
    },
  };
};
