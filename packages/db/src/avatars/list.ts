/** The list of avatars. */
import { PREVIEW_PATH } from "@realtime-avatar/domain/avatars/preparation";
import type { AVATAR_LIST, Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_KINDS, type SourceKind } from "@realtime-avatar/domain/avatars/source-kind";
import { type AvatarStatus, listedStatuses } from "@realtime-avatar/domain/avatars/status";
import type { AvatarId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { newestPage, pageReader, rangesPage } from "../query/list.ts";
import { inputColumn } from "../query/statement.ts";
import type { AvatarOwner } from "./avatars.ts";
import { avatars } from "./tables.ts";

/** An avatar as the API shows it. A token needs no escape; the origin may. `checks` is the text of `JSON.stringify`. */
const ITEM = objectJson<Avatar>({
  id: plainJson(avatars.id),
  tenantId: plainJson(avatars.tenantId),
  environment: plainJson(avatars.environment),
  displayName: textJson(avatars.displayName),
  sourceKind: plainJson(avatars.sourceKind),
  modelId: textJson(avatars.modelId),
  status: plainJson(avatars.status),
  sourceAssetId: nullable(textJson(avatars.sourceAssetId)),
  pendingSourceAssetId: nullable(textJson(avatars.pendingSourceAssetId)),
  defaultVoiceId: nullable(textJson(avatars.defaultVoiceId)),
  error: nullable(textJson(avatars.error)),
  checks: rawJson(avatars.checks),
  previewUrl: nullable(
    textJson(sql`${inputColumn("origin")} || ${sql.raw(`'${PREVIEW_PATH}/'`)} || ${avatars.previewToken} collate "C"`),
  ),
  cacheManifestId: nullable(textJson(avatars.cacheManifestId)),
  cacheVersion: rawJson(avatars.cacheVersion),
  settings: rawJson(avatars.settings),
  metadata: rawJson(avatars.metadata),
  createdAt: timeJson(avatars.createdAt),
  updatedAt: timeJson(avatars.updatedAt),
});

const LIST = { table: avatars, id: avatars.id, prefix: "ava", item: ITEM } as const;
const OWNER = [
  [avatars.environment, inputColumn("environment")],
  [avatars.tenantId, inputColumn("tenantId")],
] as const;

type All = AvatarOwner & { origin: string; before: AvatarId | null; limit: number };
const NAMES = ["tenantId", "environment", "origin", "before", "limit"] as const;
/** Without filters: `avatars_newest_index`, which leaves deleted avatars out. */
const ALL = pageReader<All>("list_avatars", newestPage(LIST, OWNER, sql`${avatars.status} <> 'deleted'`), NAMES);

/** Each status and kind is a range of `avatars_list_index`. */
const FILTERED = pageReader<All & { statuses: AvatarStatus[]; kinds: SourceKind[] }>(
  "list_avatars",
  rangesPage(LIST, OWNER, { status: avatars.status, kind: avatars.sourceKind }),
  [...NAMES, "statuses", "kinds"],
);

/**
 * The owner's newest avatars that `page` asks for. `origin`: scheme, host and port of public URLs. One statement, which
 * requests for the same page share.
 */
export const listAvatars = (
  db: Db,
  { tenantId, environment }: AvatarOwner,
  { filters: { status, sourceKind }, before, limit }: PageRequest<typeof AVATAR_LIST>,
  origin: string,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, origin, before, limit };
  if (status === undefined && sourceKind === undefined) return db.batch(ALL, page, tenantId);
  const kinds = sourceKind === undefined ? [...SOURCE_KINDS] : [sourceKind];
  return db.batch(FILTERED, { ...page, statuses: listedStatuses(status), kinds }, tenantId);
};
