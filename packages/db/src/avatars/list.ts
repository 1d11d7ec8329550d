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
import { LIMIT, pageOf, pageReader } from "../query/list.ts";
import { inputColumn, newestOf } from "../query/statement.ts";
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

const BEFORE = sql`coalesce(${inputColumn("before")}, 'ava~')`;
const OWNER = [
  [avatars.environment, inputColumn("environment")],
  [avatars.tenantId, inputColumn("tenantId")],
] as const;

/** Without filters: `avatars_newest_index`, which leaves deleted avatars out, read from its newest end. */
const newest = newestOf(OWNER, avatars.id, BEFORE);
type All = AvatarOwner & { origin: string; before: AvatarId | null; limit: number };
const ALL = pageReader<All>(
  "list_avatars",
  pageOf(
    sql`(
      select * from ${avatars} where ${newest.where} and ${avatars.status} <> 'deleted'
      order by ${newest.orderBy} limit ${LIMIT} + 1
    ) avatars`,
    avatars.id,
    ITEM,
    newest.orderBy,
  ),
  ["tenantId", "environment", "origin", "before", "limit"],
);

/** Each status and kind is a range of `avatars_list_index`, read from its newest end; the page has the newest of them all. */
const range = newestOf(
  [...OWNER, [avatars.status, sql`listed_status`], [avatars.sourceKind, sql`listed_kind`]],
  avatars.id,
  BEFORE,
);
type Filtered = All & { statuses: AvatarStatus[]; sourceKinds: SourceKind[] };
const FILTERED = pageReader<Filtered>(
  "list_avatars",
  pageOf(
    sql`(
      select avatars.*
      from unnest(${inputColumn("statuses")}::text[]) listed_status
      cross join unnest(${inputColumn("sourceKinds")}::text[]) listed_kind
      cross join lateral (
        select * from ${avatars} where ${range.where} order by ${range.orderBy} limit ${LIMIT} + 1
      ) avatars
      order by ${avatars.id} desc limit ${LIMIT} + 1
    ) avatars`,
    avatars.id,
    ITEM,
    sql`${avatars.id} desc`,
  ),
  ["tenantId", "environment", "origin", "statuses", "sourceKinds", "before", "limit"],
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
  const statuses = listedStatuses(status);
  const sourceKinds = sourceKind === undefined ? [...SOURCE_KINDS] : [sourceKind];
  return db.batch(FILTERED, { ...page, statuses, sourceKinds }, tenantId);
};
