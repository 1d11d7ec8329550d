/** Jobs for tests of the database, and their removal. */
import { beforeEach } from "bun:test";
import type { Db } from "@realtime-avatar/db/connection/pool";
import { type ClaimedJob, claimJob, type JobClaim } from "@realtime-avatar/db/jobs/jobs";
import { JOB_KINDS } from "@realtime-avatar/domain/job";
import type { TestDb } from "../database.ts";

/** Removes all jobs before each test of this file, because a claim may serve any tenant. */
export const withoutJobs = ({ client }: TestDb): void =>
  beforeEach(async () => {
    await client`delete from jobs`;
    await client`delete from job_slots`;
  });

let leases = 0;
/** The parameters of a claim: by default any job, with two slots for each tenant. */
export const jobClaim = (fields: Partial<JobClaim> = {}): JobClaim => ({
  lease: `lease ${++leases}`,
  leaseSeconds: 60,
  slots: 2,
  kinds: JOB_KINDS,
  ...fields,
});

/** Claims a job. Throws when no job can be claimed. */
export const claimedJob = async (db: Db, fields?: Partial<JobClaim>): Promise<ClaimedJob> => {
  const job = await claimJob(db, jobClaim(fields));
  if (!job) throw new Error("no job");
  return job;
};

/** Lets the leases of all jobs and slots run out. */
export const expireLeases = async ({ client }: TestDb): Promise<void> => {
  await client`update jobs set leased_until = now() - interval '1 second' where lease is not null`;
  await client`update job_slots set leased_until = now() - interval '1 second' where lease is not null`;
};

export const jobsLeft = async ({ client }: TestDb): Promise<number> => (await client`select from jobs`).length;
export const takenSlots = async ({ client }: TestDb): Promise<number> =>
  (await client`select from job_slots where lease is not null`).length;

/** The result of a processed image. */
export const READY_ASSET = {
  kind: "ready",
  contentType: "image/png",
  sizeBytes: 1,
  sha256: "0".repeat(64),
  publicType: null,
} as const;
/** Room for every asset of a test. */
export const ROOMY = { maxAssets: 10_000, maxBytes: 1e12 };

/** The events of a target, oldest first. */
export const readAuditTrail = async ({ client }: TestDb, { id }: { id: string }) =>
  Array.from(await client`select action, actor_id from audit_events where target_id = ${id} order by id`, (row) => ({
    ...row,
  }));
