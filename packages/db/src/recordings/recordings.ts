/** Recordings of calls, for the reads and deletions of the API. */
import type { Environment } from "@realtime-avatar/domain/environment";
import type { RecordingId, TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import { PARTICIPANTS } from "@realtime-avatar/domain/recordings/planned";
import type { RECORDING_LIST, Recording } from "@realtime-avatar/domain/recordings/schemas";
import { sql } from "drizzle-orm";
import { deleteRecording as callDelete } from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Runner } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { requireKind } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, timeJson } from "../query/json-text.ts";
import { newestPage, pageReader } from "../query/list.ts";
import { inputColumn } from "../query/statement.ts";
import { recordings } from "../schema/recordings.ts";

/** The owner of recordings: one tenant, in one environment. */
export type RecordingOwner = { tenantId: TenantId; environment: Environment };

/** The worker may not have deleted the file yet. */
const IS_OVER = sql`${recordings.retainedUntil} <= now()`;
const IS_READY = sql`${recordings.status} = 'ready' and not ${IS_OVER}`;
const participantsOf = Object.entries(PARTICIPANTS).map(
  ([role, identity]) =>
    sql`when ${sql.raw(`'${role}'`)} then ${sql.raw(`'{"participantIdentity":"${identity}","role":"${role}"}'`)}`,
);

/** A recording as the API shows it. */
const RECORDING = sql`json_strip_nulls((${objectJson<Recording>({
  sessionId: plainJson(recordings.sessionId),
  recordingId: plainJson(recordings.id),
  mode: plainJson(recordings.mode),
  createdAt: timeJson(recordings.createdAt),
  retainedUntil: timeJson(recordings.retainedUntil),
  participant: nullable(rawJson(sql`(case ${recordings.role} ${sql.join(participantsOf, sql` `)} end)`)),
  status: plainJson(sql`(case when ${IS_OVER} then 'expired' else ${recordings.status} end)`),
  mediaType: nullable(
    plainJson(
      sql`(case when ${IS_READY} then case ${recordings.mode} when 'audio' then 'audio' else 'video' end || '/mp4' end)`,
    ),
  ),
  sizeBytes: nullable(rawJson(sql`(case when ${IS_READY} then ${recordings.sizeBytes} end)`)),
  durationMs: nullable(rawJson(sql`(case when ${IS_READY} then ${recordings.durationMs} end)`)),
  mediaStartedAt: nullable(timeJson(sql`(case when ${IS_READY} then ${recordings.mediaStartedAt} end)`)),
  mediaEndedAt: nullable(timeJson(sql`(case when ${IS_READY} then ${recordings.mediaEndedAt} end)`)),
  errorCode: nullable(plainJson(sql`(case when not ${IS_OVER} then ${recordings.errorCode} end)`)),
})})::json)::text`;

/** `key`: of the file, as long as it can be read. */
type FoundRecording = { recording: Recording; key: string | null };

const READS = batchedRead<FoundRecording, RecordingOwner & { id: RecordingId }, FoundRecording>(
  "find_recording",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", (${RECORDING})::json as "recording",
      case when ${IS_READY} then ${recordings.key} end as "key"
    from ${inputs}
    join ${recordings} on ${recordings.tenantId} = ${inputColumn("tenantId")} collate "C"
      and ${recordings.id} = ${inputColumn("id")} collate "C"
      and ${recordings.environment} = ${inputColumn("environment")}`,
  (found) => found,
);

/** The recording of the owner with this id; null: not found. One statement. */
export const findRecording = (
  db: Db,
  { tenantId, environment }: RecordingOwner,
  id: RecordingId,
): Promise<FoundRecording | null> => db.batch(READS, { tenantId, environment, id }, tenantId);

const LIST = { table: recordings, id: recordings.id, prefix: "rec", item: RECORDING } as const;
const NAMES = ["tenantId", "environment", "before", "limit"] as const;
type ListParameters = RecordingOwner & { before: string | null; limit: number };

const ALL = pageReader<ListParameters>(
  "list_recordings",
  newestPage(LIST, [
    [recordings.environment, inputColumn("environment")],
    [recordings.tenantId, inputColumn("tenantId")],
  ]),
  NAMES,
);
/** A call has at most two recordings. */
const OF_SESSION = pageReader<ListParameters & { sessionId: string }>(
  "list_recordings",
  newestPage(
    LIST,
    [
      [recordings.sessionId, inputColumn("sessionId")],
      [recordings.tenantId, inputColumn("tenantId")],
    ],
    sql`${recordings.environment} = ${inputColumn("environment")}`,
  ),
  [...NAMES, "sessionId"],
);

/** The newest recordings of the owner that `page` requests. One statement, shared by requests for the same page. */
export const listRecordings = (
  db: Db,
  { tenantId, environment }: RecordingOwner,
  { filters: { sessionId }, before, limit }: PageRequest<typeof RECORDING_LIST>,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, before, limit };
  return sessionId === undefined
    ? db.batch(ALL, page, tenantId)
    : db.batch(OF_SESSION, { ...page, sessionId }, tenantId);
};

/**
 * Deletes a recording with its file, with an audit event. An open call whose last recording is deleted is no longer
 * recorded. One statement.
 */
export const deleteRecording = async (
  db: Runner,
  id: RecordingId,
  caller: AnyCaller,
  origin: Origin,
): Promise<{ kind: "written" | "not_found" | "stale" }> => {
  const { tenantId, environment } = caller;
  const event = auditEvent("recording.deleted", { tenantId, environment, id }, origin);
  const [row] = await callDelete(db, { caller, environment, id, auditEvent: event });
  return { kind: requireKind(row?.result ?? null, ["written", "not_found", "stale"]) };
};
