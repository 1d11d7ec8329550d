/** Preparations of avatars for tests: the writes of the worker, without files. */

import { findAvatar, updateAvatar } from "@realtime-avatar/db/avatars/avatars";
import { finishPreparation, type PreparationResult } from "@realtime-avatar/db/avatars/preparations";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { Db } from "@realtime-avatar/db/connection/pool";
import type { ClaimedJob } from "@realtime-avatar/db/jobs/jobs";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import { manifestId, preparedFile } from "@realtime-avatar/domain/avatars/preparation";
import type { CreateAvatar } from "@realtime-avatar/domain/avatars/schemas";
import type { AvatarStatus } from "@realtime-avatar/domain/avatars/status";
import { random } from "../random-bytes.ts";
import { asOwner, inStatus, operatorOrigin, seedAvatar, seedOrigin } from "../seeds.ts";

const CHECK = {
  code: "face_size",
  verdict: "pass",
  measured: 40,
  limit: 30,
  detail: "The face is large enough.",
} as const;

/** A possible result of a preparation of this generation. */
export const readyResult = (generation: number): Extract<PreparationResult, { kind: "ready" }> => ({
  kind: "ready",
  checks: [CHECK],
  cacheManifestId: manifestId(generation, "0".repeat(64)),
  previewToken: Buffer.from(random(32)).toString("base64url"),
  previewFile: preparedFile(generation, "0".repeat(64), "webp"),
});
export const FAILED_RESULT: { kind: "failed"; error: string; checks: Check[] } = {
  kind: "failed",
  error: "No face was found.",
  checks: [{ ...CHECK, code: "face_count", verdict: "fail", measured: 0, limit: 1 }],
};

/** The job of a preparation, as after a claim with the lease `lease`, but without a slot. */
export const holdPreparation = async (db: Db, { tenantId, id }: AvatarRecord, lease: string): Promise<ClaimedJob> => {
  const [job] = await asOwner(db).run<ClaimedJob>(
    `update jobs set lease = $3, leased_until = now() + interval '1 minute', attempts = attempts + 1
     where tenant_id = $1 and target_id = $2
     returning tenant_id as "tenantId", id, environment, kind, target_id as "targetId", generation, run_at as "runAt",
       attempts, lease`,
    [tenantId, id, lease],
  );
  if (!job) throw new Error("the avatar has no job");
  return job;
};

/** Writes an avatar and brings it to `status` by the writes of its caller and of the worker. Returns it. */
export const seedAvatarIn = async (
  db: Db,
  caller: Caller,
  status: AvatarStatus,
  fields: Partial<CreateAvatar> = {},
): Promise<AvatarRecord> => {
  const avatar = await seedAvatar(db, caller, fields);
  if (["ready", "disabled", "failed"].includes(status)) {
    const job = await holdPreparation(db, avatar, "seed");
    await finishPreparation(db, job, status === "failed" ? FAILED_RESULT : readyResult(1), operatorOrigin());
  }
  const change = { disabled: { status: "disabled" }, deleted: { status: "deleted" } } as const;
  if (status === "disabled" || status === "deleted") {
    const from = inStatus("draft", "preprocessing", "ready");
    await updateAvatar(db, avatar.id, change[status], from, caller, seedOrigin(caller));
  }
  const found = await findAvatar(db, caller, avatar.id);
  if (found?.status !== status) throw new Error(`the avatar is ${found?.status}, and not ${status}`);
  return found;
};
