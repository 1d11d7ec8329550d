/** The list of assets. */
import { PUBLIC_PATH } from "@realtime-avatar/domain/assets/asset";
import { ASSET_KINDS, type AssetKind } from "@realtime-avatar/domain/assets/limits";
import type { ASSET_LIST, Asset } from "@realtime-avatar/domain/assets/schemas";
import { type AssetStatus, listedAssetStatuses } from "@realtime-avatar/domain/assets/status";
import type { AssetId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import { sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { newestPage, pageReader, rangesPage } from "../query/list.ts";
import { inputColumn } from "../query/statement.ts";
import { assets } from "../schema/assets.ts";
import type { AssetOwner } from "./assets.ts";

/** An asset as the API shows it. A token needs no escape; the origin may. */
const ITEM = objectJson<Asset>({
  id: plainJson(assets.id),
  tenantId: plainJson(assets.tenantId),
  environment: plainJson(assets.environment),
  kind: plainJson(assets.kind),
  origin: plainJson(
    sql`coalesce(${assets.origin}, case when ${assets.remoteUrl} is null then 'uploaded' else 'imported' end)`,
  ),
  status: plainJson(assets.status),
  contentType: nullable(textJson(assets.contentType)),
  sizeBytes: nullable(rawJson(assets.sizeBytes)),
  sha256: nullable(plainJson(assets.sha256)),
  publicUrl: textJson(
    sql`${inputColumn("origin")} || ${sql.raw(`'${PUBLIC_PATH}/'`)} || ${assets.publicToken} collate "C"`,
  ),
  error: nullable(
    rawJson(
      sql`('{"code":' || to_json(${assets.errorCode})::text || ',"detail":' || to_json(${assets.errorDetail})::text || '}')`,
    ),
  ),
  originalFilename: nullable(textJson(assets.originalFilename)),
  metadata: rawJson(assets.metadata),
  createdAt: timeJson(assets.createdAt),
  updatedAt: timeJson(assets.updatedAt),
});

const LIST = { table: assets, id: assets.id, prefix: "ast", item: ITEM } as const;
const OWNER = [
  [assets.environment, inputColumn("environment")],
  [assets.tenantId, inputColumn("tenantId")],
] as const;

type ListParameters = AssetOwner & { origin: string; before: AssetId | null; limit: number };
const NAMES = ["tenantId", "environment", "origin", "before", "limit"] as const;
/** Without filters: `assets_newest_index`, which leaves deleted assets out. */
const ALL = pageReader<ListParameters>(
  "list_assets",
  newestPage(LIST, OWNER, sql`${assets.status} <> 'deleted'`),
  NAMES,
);

/** Each status and kind is a range of `assets_list_index`. */
const FILTERED = pageReader<ListParameters & { statuses: AssetStatus[]; kinds: AssetKind[] }>(
  "list_assets",
  rangesPage(LIST, OWNER, { status: assets.status, kind: assets.kind }),
  [...NAMES, "statuses", "kinds"],
);

/**
 * The owner's newest assets that `page` asks for. `origin`: scheme, host and port of public URLs. One statement, shared
 * by requests for the same page.
 */
export const listAssets = (
  db: Db,
  { tenantId, environment }: AssetOwner,
  { filters: { kind, status }, before, limit }: PageRequest<typeof ASSET_LIST>,
  origin: string,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, origin, before, limit };
  if (kind === undefined && status === undefined) return db.batch(ALL, page, tenantId);
  const kinds = kind === undefined ? [...ASSET_KINDS] : [kind];
  return db.batch(FILTERED, { ...page, statuses: listedAssetStatuses(status), kinds }, tenantId);
};
