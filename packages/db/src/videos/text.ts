/** The JSON of a video, as PostgreSQL writes it. */
import { PUBLIC_PATH } from "@realtime-avatar/domain/assets/asset";
import type { Video } from "@realtime-avatar/domain/videos/schemas";
import { type SQL, sql } from "drizzle-orm";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { inputColumn } from "../query/statement.ts";
import { assets } from "../schema/assets.ts";
import { videos } from "../schema/videos.ts";

/** A value of the asset with the file; null when the asset is deleted. An asset can be deleted without its video. */
const ofFile = (value: SQL): SQL => sql`(
  select ${value} from ${assets} file
  where file.tenant_id = ${videos.tenantId} and file.id = ${videos.assetId} and file.status = 'ready'
)`;
const URL_OF_FILE = sql`${inputColumn("origin")} || ${sql.raw(`'${PUBLIC_PATH}/'`)} || file.public_token collate "C"`;

/**
 * A video as the API shows it: the result of `presentVideo`, with its file. The input `origin`: scheme, host and port
 * of public URLs.
 */
export const VIDEO = objectJson<Video>({
  id: plainJson(videos.id),
  tenantId: plainJson(videos.tenantId),
  environment: plainJson(videos.environment),
  avatarId: plainJson(videos.avatarId),
  text: nullable(textJson(videos.text)),
  audioAssetId: nullable(plainJson(videos.audioAssetId)),
  status: plainJson(videos.status),
  progress: rawJson(videos.progress),
  assetId: nullable(plainJson(ofFile(sql`file.id`))),
  videoUrl: nullable(textJson(ofFile(URL_OF_FILE))),
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
