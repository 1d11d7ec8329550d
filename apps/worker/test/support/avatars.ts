/** Avatars for tests of jobs: their sources, their jobs, their states and their prepared files. */
import { createHash } from "node:crypto";
import { findAvatar, insertAvatar } from "@realtime-avatar/db/avatars/avatars";
import type { Caller } from "@realtime-avatar/db/callers/callers";
import type { JobRecord } from "@realtime-avatar/db/jobs/jobs";
import { type AssetRecord, originalKey } from "@realtime-avatar/domain/assets/asset";
import type { AssetKind } from "@realtime-avatar/domain/assets/limits";
import type { AvatarRecord } from "@realtime-avatar/domain/avatars/avatar";
import { PREPARED_FOLDER } from "@realtime-avatar/domain/avatars/preparation";
import { newId } from "@realtime-avatar/domain/id";
import type { Storage } from "@realtime-avatar/storage/storage";
import type { TestDatabase } from "@realtime-avatar/testing/database";
import { random } from "@realtime-avatar/testing/random-bytes";
import { plannedAvatar, seedAsset, seedOrigin } from "@realtime-avatar/testing/seeds";

/** An avatar in the database, with the job that prepares it; `attempts` is null without one. */
export type AvatarState = AvatarRecord & { attempts: number | null; lastError: string | null };

/** The job of the preparation that an avatar waits for. */
export const preparationJob = ({ tenantId, environment, id, generation }: AvatarRecord): JobRecord => {
  const runAt = new Date();
  const job = { tenantId, environment, id: newId("job", runAt, random), targetId: id, generation, runAt } as const;
  return { ...job, kind: "prepare_avatar" };
};

export const avatarTools = (database: TestDatabase, storage: Storage, caller: Caller) => {
  const { db } = database;
  const { client } = db;
  return {
    /** Stores the bytes of a file and writes its asset, which is ready. */
    seedReady: async (bytes: Uint8Array, kind: AssetKind = "image"): Promise<AssetRecord> => {
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const asset = { ...(await seedAsset(db, caller.tenantId, caller.environment, kind)), sha256 };
      await client`update assets set sha256 = ${sha256} where id = ${asset.id}`;
      const stream = new Blob([Buffer.from(bytes)]).stream();
      await storage.put(originalKey(asset), { stream, sizeBytes: bytes.byteLength }, "image/png");
      return asset;
    },
    /** Writes an avatar with this source, and the job that prepares it. */
    seedAvatar: async (sourceAssetId: string, by: Caller = caller): Promise<AvatarRecord> => {
      const avatar = plannedAvatar(by, { sourceAssetId });
      const { kind } = await insertAvatar(db, avatar, preparationJob(avatar), by, seedOrigin(by));
      if (kind !== "written") throw new Error(`the avatar was not written: ${kind}`);
      return avatar;
    },
    /** Writes another job for the same preparation. */
    seedPreparation: async (avatar: AvatarRecord): Promise<void> => {
      const { tenantId, id, environment, kind, targetId, generation } = preparationJob(avatar);
      await client`
        insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
        values (${tenantId}, ${id}, ${environment}, ${kind}, ${targetId}, ${generation}, now(), now())`;
    },
    currentOf: async ({ tenantId, environment, id }: AvatarRecord): Promise<AvatarState> => {
      // Reads the job first. Without a job, the avatar has its outcome.
      const [job] = await client`
        select attempts, last_error as "lastError" from jobs where tenant_id = ${tenantId} and target_id = ${id}`;
      const found = await findAvatar(db, { tenantId, environment }, id);
      if (found === null) throw new Error("there is no such avatar");
      return { ...found, attempts: job?.["attempts"] ?? null, lastError: job?.["lastError"] ?? null };
    },
    /** The prepared files of an avatar in the store. */
    preparedOf: async ({ tenantId, id }: AvatarRecord): Promise<string[]> => {
      const prefix = `${PREPARED_FOLDER}/${tenantId}/${id}/`;
      return (await Array.fromAsync(storage.list(prefix))).map(({ key }) => key.slice(prefix.length)).sort();
    },
  };
};
