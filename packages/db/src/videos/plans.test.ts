/** How the server executes the statements and functions of videos: by indexes, with plans for any values. */
import { expect, test } from "bun:test";
import type { VideoStatus } from "@realtime-avatar/domain/videos/status";
import { seedVideo, videoFile } from "@realtime-avatar/testing/avatars/videos";
import { readyAvatar } from "@realtime-avatar/testing/calls/calls";
import { PRICE, seedCaller } from "@realtime-avatar/testing/credits";
import { fileDatabase } from "@realtime-avatar/testing/fixture";
import { claimedJob, ROOMY } from "@realtime-avatar/testing/postgres/jobs";
import {
  expectIndexed,
  explainedSession,
  insertEndpointRows,
  insertKeyRows,
  insertRecordingRows,
  rowId,
} from "@realtime-avatar/testing/postgres/plans";
import { newClaim, operatorOrigin, seedAsset, seedOrigin, seedTenant } from "@realtime-avatar/testing/seeds";
import { deleteGeneratedFiles } from "../assets/processing.ts";
import { listVideos } from "./list.ts";
import { failWaitingVideos, finishVideo, reportVideo, startVideo, type VideoResult } from "./rendering.ts";
import { deleteVideo, findVideo } from "./videos.ts";

const ROWS = 3000;

const database = await fileDatabase();
const owner = database.db.client;
const tenantId = await seedTenant(database.db, { live: 1_000_000 * PRICE });
const { caller } = await seedCaller(database.db, tenantId);
const avatarId = await readyAvatar(database.db, caller);
const { db, plans, explain } = await explainedSession(database.url);

const video = (of: string, status: VideoStatus, from: number, to: number) => {
  const billed = ["queued", "rendering"].includes(status) ? "null, null" : "0, 0";
  return `
  insert into videos (
    tenant_id, id, environment, avatar_id, text, status, billed_seconds, billed_credit_micros, reserved_credit_micros, session_id, api_key_id,
    error_code, error_detail, metadata, version, created_at, updated_at
  )
  select ${of}, ${rowId("vid")}, 'live', '${avatarId}', 'n', '${status}', ${billed}, 1, ${rowId("ses")}, '${caller.id}',
    ${status === "failed" ? "'internal', 'n'" : "null, null"}, '{}', 1, now(), now() from generate_series(${from}, ${to}) i;
  insert into usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, status, reserved, price, metadata, created_at, ended_at, expires_at, is_counted, video_id
  )
  select ${of}, ${rowId("ses")}, 'live', '${caller.id}', '{}', 'released', 1, 1, '{}', now(), now(), now(), false, ${rowId("vid")}
    from generate_series(${from}, ${to}) i;`;
};
await owner.unsafe(`
  ${insertKeyRows(tenantId, ROWS)}
  ${video(`'${tenantId}'`, "failed", 1, ROWS)}
  ${video(`'${tenantId}'`, "canceled", ROWS + 1, 2 * ROWS)}
  ${video(rowId("ten"), "queued", 1, ROWS)}
  insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    select ${rowId("ten")}, ${rowId("job")}, 'live', 'render_video', ${rowId("vid")}, 1, now() + interval '1 hour', now()
    from generate_series(1, ${ROWS}) i;
  insert into job_slots select ${rowId("ten")}, slot, null, null, null, now() - interval '1 hour'
    from generate_series(1, ${ROWS}) i, generate_series(1, 2) slot;
  insert into assets (tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, reserved_bytes, metadata,
    version, created_at, updated_at)
    select '${tenantId}', ${rowId("ast")}, 'live', 'video', 'ready', 'video/mp4', 1, repeat('0', 64), lpad(i::text, 43, '0'), 1, '{}', 1,
      now() - interval '1 day', now() from generate_series(1, ${ROWS}) i;
  insert into avatars (tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, pending_source_asset_id,
    cache_version, settings, metadata, version, created_at, updated_at)
    select '${tenantId}', ${rowId("ava")}, 'live', 'n', 'image', 'm', 'draft', ${rowId("ast")}, ${rowId("ast")}, 0, '{}', '{}', 1, now(), now()
    from generate_series(1, ${ROWS}) i;
  insert into api_key_meters select '${tenantId}', ${rowId("key")}, 0, 0 from generate_series(1, ${ROWS}) i;
  insert into credit_accounts (tenant_id, environment, granted, updated_at) select ${rowId("ten")}, 'live', 0, now()
    from generate_series(1, ${ROWS}) i;
  insert into calls (tenant_id, session_id, room_name, room, mode, input, max_seconds)
    select '${tenantId}', ${rowId("ses")}, 'r', 'gone', 'voice', '{}', 1 from generate_series(1, ${ROWS}) i;
  insert into call_agents select '${tenantId}', ${rowId("ses")}, now(), 'wss://x', 'x', sha256(i::text::bytea), 'x'
    from generate_series(1, ${ROWS}) i;
  insert into call_transcripts (tenant_id, session_id, receiver, due_at, attempt_count)
    select '${tenantId}', ${rowId("ses")}, 'x', now() + interval '1 hour', i % 2 from generate_series(1, ${ROWS}) i;
  ${insertRecordingRows(tenantId, ROWS)}
  insert into call_segments select '${tenantId}', ${rowId("ses")}, 1, n, 'x' from generate_series(1, ${ROWS}) i, generate_series(0, 3) n;
  insert into credit_entries (tenant_id, id, environment, kind, amount, session_id, request_id, created_at)
    select '${tenantId}', ${rowId("ent")}, 'live', 'hold', 1, ${rowId("ses")}, 'r', now() from generate_series(1, ${ROWS}) i;
  insert into asset_meters select ${rowId("ten")}, 'live', 1, 1 from generate_series(1, ${ROWS}) i;
  insert into idempotency_claims (tenant_id, caller_id, request, idempotency_key, attempt_id, body_hash, status, etag, response_body, created_at)
    select '${tenantId}', '${caller.id}', 'POST /api/v1/videos', i::text, ${rowId("aud")}, sha256('x'), 201, '1', 'x', now()
    from generate_series(1, ${ROWS}) i;
  ${insertEndpointRows(ROWS)}`);
await owner.unsafe("vacuum analyze");
await explain();

const create = async (fields: Parameters<typeof seedVideo>[3] = {}) => {
  const created = await seedVideo(db, caller, avatarId, fields);
  expect(created.outcome.kind).toBe("written");
  return created.video;
};
/** The job of a new video, which a worker renders. */
const started = async () => {
  await owner`delete from job_slots where tenant_id = ${tenantId}`;
  const { id } = await create();
  await owner`update jobs set run_at = '2000-01-01' where target_id = ${id}`;
  const job = await claimedJob(db, { kinds: ["render_video"], slots: 1 });
  expect(await startVideo(db, job)).toMatchObject({ kind: "started", video: { id } });
  return job;
};
const remove = async (id: Parameters<typeof deleteVideo>[1]) =>
  expect((await deleteVideo(db, id, { versions: null, managesFiles: true }, caller, seedOrigin(caller))).kind).toBe(
    "written",
  );
const finish = async (result: VideoResult) => finishVideo(db, await started(), result, operatorOrigin());
const READY: VideoResult = { kind: "ready", asset: videoFile(caller), durationMs: 2100, warnings: [], quota: ROOMY };
const ENDING = ["usage_sessions_tenant_id_id_pk", "api_key_meters_tenant_id_api_key_id_pk"];
const list = (filters: Parameters<typeof listVideos>[2]["filters"]) =>
  listVideos(db, caller, { filters, before: null, limit: 50 }, "https://assets.example.com");

const cases: [string, () => Promise<unknown>, string[]][] = [
  ["creating a video", () => create(), ["videos_running_index", "avatars_tenant_id_id_pk"]],
  ["creating a video with a claim", () => create({ claim: newClaim("a video") }), ["videos_running_index"]],
  [
    "creating a video of a recording",
    async () =>
      create({ text: null, voiceId: null, audioAssetId: (await seedAsset(database.db, tenantId, "live", "audio")).id }),
    ["assets_tenant_id_id_pk"],
  ],
  ["reading a video", async () => findVideo(db, caller, (await create()).id, "https://x"), ["videos_tenant_id_id_pk"]],
  ["listing videos", () => list({}), ["videos_newest_index"]],
  ["listing videos by status", () => list({ status: "failed" }), ["videos_list_index"]],
  ["listing videos by avatar", () => list({ avatarId }), ["videos_avatar_index"]],
  ["listing videos by status and avatar", () => list({ avatarId, status: "failed" }), ["videos_avatar_index"]],
  ["beginning a video", started, ["jobs_tenant_id_id_pk", "videos_tenant_id_id_pk", "usage_sessions_tenant_id_id_pk"]],
  [
    "reporting the progress of a video",
    async () => expect(await reportVideo(db, await started(), 0.5)).toBeNull(),
    ["videos_tenant_id_id_pk", "usage_sessions_tenant_id_id_pk"],
  ],
  ["finishing a video", async () => expect(await finish(READY)).toBe("ready"), ENDING],
  [
    "failing a video",
    async () => expect(await finish({ kind: "failed", code: "internal", detail: "x" })).toBe("failed"),
    ENDING,
  ],
  ["canceling a video", async () => remove((await create()).id), [...ENDING, "jobs_of_target_index"]],
  [
    "deleting a video with its file",
    async () => {
      const job = await started();
      const asset = videoFile(caller);
      expect(await finishVideo(db, job, { ...READY, asset }, operatorOrigin())).toBe("ready");
      await remove(job.targetId as Parameters<typeof deleteVideo>[1]);
    },
    ["assets_tenant_id_id_pk", "avatars_source_asset_index"],
  ],
  [
    "failing videos that no worker has finished",
    async () => {
      const { id } = await create();
      await owner`update videos set created_at = now() - interval '2 days' where id = ${id}`;
      expect(await failWaitingVideos(db, 10, operatorOrigin())).toBe(1);
    },
    ["videos_waiting_index", "jobs_of_target_index", ...ENDING],
  ],
  [
    "deleting old files",
    async () => {
      const asset = videoFile(caller);
      expect(await finish({ ...READY, asset })).toBe("ready");
      await owner`update assets set created_at = now() - interval '9 days' where id = ${asset.id}`;
      expect(await deleteGeneratedFiles(db, 10, new Date(Date.now() - 8 * 86_400_000), operatorOrigin())).toBe(1);
    },
    ["assets_generated_index", "avatars_source_asset_index", "avatars_pending_source_asset_index"],
  ],
];

test.each(cases)("the statement for %s, explained: reads no whole table", async (_, work, indexes) => {
  plans.length = 0;
  await work();
  const plan = expectIndexed(plans);
  for (const index of indexes) expect([index, plan.includes(index)]).toEqual([index, true]);
});
