/** Videos beside other jobs. Videos take minutes, and files and avatars do not wait for them. */
import { expect, test } from "bun:test";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { seedVideo } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { PRICE } from "@realtime-avatar/testing/credits";
import { serviceDatabase } from "@realtime-avatar/testing/fixture";
import { claimedJob, jobClaim, READY_ASSET, ROOMY, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import {
  assetJob,
  operatorOrigin,
  plannedAsset,
  seedCaller,
  seedOrigin,
  seedTenant,
} from "@realtime-avatar/testing/seeds";
import { insertAsset } from "../assets/assets.ts";
import { finishAsset, startAsset } from "../assets/processing.ts";
import type { Caller } from "../callers/callers.ts";
import { claimJob, jobStats, retryJob } from "./jobs.ts";

const { db } = await serviceDatabase();
withoutJobs(db);

const addFile = async (caller: Caller, fields: Partial<JobRecord> = {}): Promise<JobRecord> => {
  const asset = plannedAsset(caller);
  const job = assetJob(asset, fields);
  await insertAsset(db, { asset, job, quota: ROOMY }, caller, seedOrigin(caller));
  return job;
};
const withCredits = async (): Promise<Caller> => seedCaller(db, await seedTenant(db, { live: 1000 * PRICE }));
const addVideo = async (caller: Caller): Promise<string> =>
  (await seedVideo(db, caller, await readyAvatar(db, caller))).video.id;

test("a tenant with one slot, while its video is rendered: its files are processed, its next video waits", async () => {
  const caller = await withCredits();
  const videos = [await addVideo(caller), await addVideo(caller)];
  const rendered = await claimedJob(db, { slots: 1 });
  expect(rendered.targetId).toBe(videos[0] as string);
  // Due after the second video.
  const files = [await addFile(caller), await addFile(caller)];
  const first = await claimedJob(db, { slots: 1 });
  expect(first.id).toBe(files[0]?.id as never);
  expect(await claimJob(db, jobClaim({ slots: 1 }))).toBeNull();
  // Only jobs of the same tenant delay the others.
  expect(await jobStats(db)).toEqual({ queued: 2, running: 2, oldestSeconds: 0 });
  await startAsset(db, first);
  expect(await finishAsset(db, first, READY_ASSET, operatorOrigin())).toBe("finished");
  expect((await claimedJob(db, { slots: 1 })).id).toBe(files[1]?.id as never);
  expect(await claimJob(db, jobClaim({ slots: 1 }))).toBeNull();
  await retryJob(db, rendered, { error: "x", delaySeconds: 3600, maxAttempts: 5 }, operatorOrigin());
  expect((await claimedJob(db, { slots: 1 })).targetId).toBe(videos[1] as string);
});

test("the oldest waiting time, with a file while a video is rendered: that of the file", async () => {
  const caller = await withCredits();
  await addVideo(caller);
  await addVideo(caller);
  await db.client`update jobs set run_at = now() - interval '1 hour'`;
  await claimedJob(db, { slots: 1 });
  await addFile(caller, { runAt: new Date(Date.now() - 60_000) });
  expect((await jobStats(db)).oldestSeconds).toBeWithin(59, 3000);
});

test("a worker that takes no more videos, with 40 tenants with videos first in turn: finds the file of another tenant", async () => {
  for (let count = 0; count < 40; count++) await addVideo(await withCredits());
  const job = await addFile(await seedCaller(db));
  const kinds = ["process_asset", "prepare_avatar"] as const;
  expect((await claimedJob(db, { slots: 1, kinds })).id).toBe(job.id);
  expect(await claimJob(db, jobClaim({ slots: 1, kinds }))).toBeNull();
});
