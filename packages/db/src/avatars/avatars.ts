/** Avatars in the database. */

import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { type PreparationChange, statusesWith } from "@realtime-avatar/domain/avatars/preparation";
import type { UpdateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_REFUSALS, type SourceRefusal } from "@realtime-avatar/domain/avatars/source-kind";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import type { AvatarId, JobId } from "@realtime-avatar/domain/id";
import type { JobRecord } from "@realtime-avatar/domain/job";
import { sql } from "drizzle-orm";
import {
  prepareAvatar as callPrepare,
  updateAvatar as callUpdate,
  createAvatars,
  type PrepareAvatarRow,
  type UpdateAvatarRow,
} from "../../generated/functions.ts";
import { auditEvent, type Origin } from "../audit/audit-events.ts";
import type { AnyCaller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { batchedCreate, type Create, type CreateOutcome } from "../idempotency/batched-write.ts";
import { type Claim, requireKind, type StoredResponse } from "../idempotency/idempotency-keys.ts";
import { batchedRead } from "../query/batched-read.ts";
import { inputColumn, selectColumns } from "../query/statement.ts";
import { avatars } from "../schema/avatars.ts";
import { type AvatarRow, avatarRow, toAvatar } from "./record.ts";

type CreateAvatar = Create & { avatar: AvatarRecord; job: JobRecord | null };
const create = batchedCreate<CreateAvatar, SourceRefusal>("create_avatar", SOURCE_REFUSALS, (db, creates, parameters) =>
  createAvatars(db, {
    ...parameters,
    avatars: creates.map(({ avatar }) => avatarRow(avatar)),
    // Not null when the sources must be checked.
    jobs: creates.some(({ avatar }) => avatar.sourceAssetId !== null) ? creates.map(({ job }) => job) : null,
  }),
);

export type InsertAvatarOutcome = CreateOutcome<SourceRefusal>;

/**
 * Writes a new avatar, the job that prepares it (null without a source), its audit event and, with a claim, the
 * response. Stale when the caller has changed since its look-up or is no longer valid. One statement. Runs a second one
 * when the first is stale: see `batchedCreate`.
 */
export const insertAvatar = (
  db: Db,
  avatar: AvatarRecord,
  job: JobRecord | null,
  caller: AnyCaller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<InsertAvatarOutcome> =>
  create(db, {
    avatar,
    job,
    caller,
    audit: auditEvent("avatar.created", avatar, origin),
    claim,
  });

/** The owner of avatars: one tenant, in one environment. */
export type AvatarOwner = Pick<AvatarRecord, "tenantId" | "environment">;

type AvatarLookUp = AvatarOwner & { id: AvatarId };
const READS = batchedRead<AvatarRow, AvatarLookUp, AvatarRecord>(
  "find_avatar",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", ${selectColumns(avatars)}
    from ${inputs}
    cross join lateral (
      select * from ${avatars}
      where ${avatars.tenantId} = ${inputColumn("tenantId")} collate "C" and ${avatars.id} = ${inputColumn("id")} collate "C"
        and ${avatars.environment} = ${inputColumn("environment")}
      -- One row at a time, by the primary key: see find_credential.
      offset 0
    ) avatars`,
  toAvatar,
);
/** The avatar, in any status; `null` when the owner has no avatar with this id. One statement. */
export const findAvatar = (
  db: Db,
  { tenantId, environment }: AvatarOwner,
  id: AvatarId,
): Promise<AvatarRecord | null> => db.batch(READS, { tenantId, environment, id }, tenantId);

/** The fields that a change can set: those of `UpdateAvatar`, and every status. */
export type AvatarChanges = Omit<UpdateAvatar, "status"> & { status?: AvatarStatus };

const NO_CHANGE = {
  displayName: null,
  modelId: null,
  sourceAssetId: null,
  defaultVoiceId: null,
  settings: null,
  metadata: null,
  status: null,
} satisfies Record<keyof UpdateAvatar, null>;

/** The statuses in which `change` starts a preparation. */
const startsIn = (change: PreparationChange): AvatarStatus[] => [
  ...statusesWith(change, "prepare"),
  ...statusesWith(change, "prepare_in_background"),
];
/** For every change, a served avatar remains available. */
const IN_BACKGROUND = statusesWith("prepare", "prepare_in_background");
const RULES = { onSource: startsIn("sourceAssetId"), onModel: startsIn("modelId"), inBackground: IN_BACKGROUND };

/** The statuses in which a preparation refuses one of `changes`. */
const refusing = ({ sourceAssetId, modelId }: AvatarChanges): AvatarStatus[] => [
  ...(sourceAssetId === null ? statusesWith("noSource", "refuse") : []),
  ...(typeof sourceAssetId === "string" ? statusesWith("sourceAssetId", "refuse") : []),
  ...(modelId === undefined ? [] : statusesWith("modelId", "refuse")),
];

/** The outcome of a change of an avatar. */
export type UpdateAvatarOutcome =
  | { kind: "written"; avatar: AvatarRecord }
  /** Nothing was written: the avatar has a status or version that the change does not accept. */
  | { kind: "unchanged"; avatar: AvatarRecord }
  /** The caller's tenant has no avatar with this id in the environment. */
  | { kind: "not_found" }
  /** Nothing was written: the new `sourceAssetId` is refused. */
  | { kind: SourceRefusal }
  /** Nothing was written: the caller has changed since its look-up. */
  | { kind: "stale" };

/**
 * Changes an avatar, if it is in one of `statuses` and, unless `versions` is null, in one of these versions, and writes
 * the audit event. A change that waits for another one is checked against the result of the other one. A preparation
 * starts or ends with the change as `CHANGE_EFFECTS` says. Its job has the id `jobId`. One statement.
 */
export const updateAvatar = async (
  db: Db,
  id: AvatarId,
  changes: AvatarChanges,
  provided: { versions: readonly string[] | null; statuses: readonly AvatarStatus[]; jobId: JobId },
  caller: AnyCaller,
  origin: Origin,
): Promise<UpdateAvatarOutcome> => {
  const { tenantId, environment } = caller;
  const action = changes.status === "deleted" ? "avatar.deleted" : "avatar.updated";
  const refused = refusing(changes);
  const [row] = await callUpdate(db, {
    caller,
    environment,
    id,
    change: { ...NO_CHANGE, ...changes, fields: Object.keys(changes) },
    versions: provided.versions,
    statuses: provided.statuses.filter((status) => !refused.includes(status)),
    rules: RULES,
    jobId: provided.jobId,
    auditEvent: auditEvent(action, { tenantId, environment, id }, origin),
  });
  const { kind: name, ...avatar } = row as UpdateAvatarRow;
  const kind = requireKind(name, ["written", "unchanged", "not_found", "stale", ...SOURCE_REFUSALS]);
  const isFound = kind === "written" || kind === "unchanged";
  return isFound ? { kind, avatar: toAvatar(avatar as AvatarRow) } : { kind };
};

/** The outcome of `prepareAvatar`. */
export type PrepareAvatarOutcome =
  | { kind: "written"; avatar: AvatarRecord }
  /** Nothing was written: the avatar has another version, or a status in which it cannot be prepared again. */
  | { kind: "unchanged"; avatar: AvatarRecord }
  /** Nothing was written: the avatar has no source. */
  | { kind: "no_source"; avatar: AvatarRecord }
  /** Nothing was written: the avatar does not exist, or the caller has changed since its look-up. */
  | { kind: "not_found" | "stale" }
  /** Nothing was written: an earlier attempt with the same claim had this response. */
  | { kind: "replayed"; response: StoredResponse };

/**
 * Prepares an avatar again if it has `version`; null accepts every version. With a claim, the version must be known,
 * because the stored response shows the next version. Writes the job, the audit event and, with a claim, the response.
 * The operator acts for an owner, without a key. One statement.
 */
export const prepareAvatar = async (
  db: Db,
  id: AvatarId,
  version: number | null,
  jobId: JobId,
  caller: AnyCaller | AvatarOwner,
  origin: Origin,
  claim: Claim | null = null,
): Promise<PrepareAvatarOutcome> => {
  const { tenantId, environment } = caller;
  const [row] = await callPrepare(db, {
    caller: "id" in caller ? caller : null,
    tenantId,
    environment,
    id,
    version,
    statuses: startsIn("prepare"),
    inBackground: IN_BACKGROUND,
    jobId,
    auditEvent: auditEvent("avatar.updated", { tenantId, environment, id }, origin),
    claim,
  });
  const { outcome, bodyHash, responseStatus, location, etag, responseBody, sealedFor, ...avatar } =
    row as PrepareAvatarRow;
  const kind = requireKind(outcome, ["written", "unchanged", "no_source", "not_found", "stale", "replayed"]);
  if (kind === "replayed") {
    const response = { bodyHash, status: responseStatus, location, etag, responseBody, sealedFor };
    return { kind, response: response as StoredResponse };
  }
  const isFound = kind === "written" || kind === "unchanged" || kind === "no_source";
  return isFound ? { kind, avatar: toAvatar(avatar as AvatarRow) } : { kind };
};
