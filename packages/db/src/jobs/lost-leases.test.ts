/** Jobs whose worker died: the jobs for which the death counts, and the jobs that run alone. */
import { expect, test } from "bun:test";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { claimedJob, expireLeases, jobClaim, ROOMY, withoutJobs } from "@realtime-avatar/testing/postgres/jobs";
import { assetJob, operatorOrigin, plannedAsset, seedCaller, seedOrigin } from "@realtime-avatar/testing/seeds";
import { insertAsset } from "../assets/assets.ts";
import type { Caller } from "../callers/callers.ts";
import { type ClaimedJob, claimJobBeside, renewJob, retryJob } from "./jobs.ts";

const { db } = await fileDatabase();
withoutJobs(db);

const add = async (caller: Caller) => {
  const asset = plannedAsset(caller);
  const job = assetJob(asset);
  await insertAsset(db, { asset, job, quota: ROOMY }, caller, seedOrigin(caller));
  return { job };
};
const claimBeside = () => claimJobBeside(db, jobClaim({ slots: 3 }));
const claimed = (): Promise<ClaimedJob> => claimedJob(db, { slots: 3 });
const retry = (job: ClaimedJob) => retryJob(db, job, { error: "x", delaySeconds: 0, maxAttempts: 5 }, operatorOrigin());

test("a job whose lease has run out, claimed again: the first time uses no attempt; each further time uses one", async () => {
  const { job } = await add(await seedCaller(db));
  expect(await claimed()).toMatchObject({ attempts: 1, runsAlone: false });
  for (const attempts of [1, 2, 3]) {
    await expireLeases(db);
    // A worker with other jobs does not get it.
    expect(await claimBeside()).toBe("alone");
    expect(await claimed()).toMatchObject({ id: job.id, attempts, runsAlone: true });
  }
});

test("a job that ran alone, given back: from then on it may run with others again", async () => {
  await add(await seedCaller(db));
  await claimed();
  await expireLeases(db);
  const handedBack = { error: "x", delaySeconds: 0, maxAttempts: null };
  expect(await retryJob(db, await claimed(), handedBack, operatorOrigin())).toBe("retried");
  expect(await claimBeside()).toBe("alone");
  expect(await retry(await claimed())).toBe("retried");
  expect(await claimBeside()).toMatchObject({ attempts: 2, runsAlone: false });
  expect(await claimBeside()).toBeNull();
});

test("a lease, renewed for 0 seconds: the job can be claimed at once, and runs alone", async () => {
  const { job } = await add(await seedCaller(db));
  expect(await renewJob(db, await claimed(), 0)).toBe(true);
  expect(await claimed()).toMatchObject({ id: job.id, attempts: 1, runsAlone: true });
});

test("a job that kills its worker each time, among other jobs: identified, and the others lose no attempt", async () => {
  const caller = await seedCaller(db);
  const { job: poison } = await add(caller);
  for (let count = 0; count < 2; count++) await add(caller);
  for (let count = 0; count < 3; count++) await claimBeside();
  const attempts = new Map<string, number>();
  while ((await db.client`select from jobs`).length > 0) {
    await expireLeases(db);
    const job = await claimed();
    attempts.set(job.id, job.attempts);
    // The worker dies at each attempt, until the job is given up.
    if (job.id === poison.id && job.attempts <= 5) continue;
    await db.client`delete from jobs where id = ${job.id}`;
    await db.client`update job_slots set lease = null, leased_until = null`;
  }
  expect(attempts.get(poison.id)).toBe(6);
  expect([...attempts.values()].sort()).toEqual([1, 1, 6]);
});
