/** The JSON of a video, as PostgreSQL writes it. */
import type { Video } from "@realtime-avatar/domain/videos/schemas";
import { sql } from "drizzle-orm";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { assets } from "../schema/assets.ts";
import { videos } from "../schema/videos.ts";

/** The asset with the file, unless it is deleted: the asset can be deleted by itself. */
const ASSET_ID = sql`(
  select file.id from ${assets} file
  where file.tenant_id = ${videos.tenantId} and file.id = ${videos.assetId} and file.status = 'ready'
)`;

/** A video as the API shows it: what `presentVideo` returns. */
export const VIDEO = objectJson<Video>({
  id: plainJson(videos.id),
  tenantId: plainJson(videos.tenantId),
  environment: plainJson(videos.environment),
  avatarId: plainJson(videos.avatarId),
  text: nullable(textJson(videos.text)),
  audioAssetId: nullable(plainJson(videos.audioAssetId)),
  status: plainJson(videos.status),
  progress: rawJson(videos.progress),
  assetId: nullable(plainJson(ASSET_ID)),
  durationSeconds: nullable(rawJson(sql`(${videos.durationMs} / 1000.0)::double precision`)),
  billedSeconds: nullable(rawJson(videos.billedSeconds)),
  billedCreditMicros: nullable(rawJson(videos.billedCreditMicros)),
  sessionId: plainJson(videos.sessionId),
  error: nullable(
    rawJson(
      sql`('{"code":' || to_json(${videos.errorCode})::text || ',"detail":' || to_json(${videos.errorDetail})::text || '}')`,
    ),
  ),
  createdBy: plainJson(videos.apiKeyId),
  createdAt: timeJson(videos.createdAt),
  updatedAt: timeJson(videos.updatedAt),
  voiceId: nullable(textJson(videos.voiceId)),
  reservedCreditMicros: rawJson(videos.reservedCreditMicros),
  warnings: listJson(videos.warnings),
  metadata: rawJson(videos.metadata),
});
