/** The list of avatars. */
import { ANIMATED_PATH, PREVIEW_PATH } from "@realtime-avatar/domain/avatars/preparation";
import type { AVATAR_LIST, Avatar } from "@realtime-avatar/domain/avatars/schemas";
import { SOURCE_KINDS, type SourceKind } from "@realtime-avatar/domain/avatars/source-kind";
import { type AvatarStatus, listedStatuses } from "@realtime-avatar/domain/avatars/status";
import { MAX_COUNTED, type PageRequest, type Total, type WrittenPage } from "@realtime-avatar/domain/page";
import { type SQL, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { type Columns, LIMIT, newestPage, pageReader, pageStatement, rangesPage, selectCount } from "../query/list.ts";
import {
  isSearch,
  nameMatches,
  restOfSearch,
  SEARCH_INPUTS,
  type Search,
  type SearchInputs,
  searchInputs,
  searchTables,
} from "../query/search.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { avatars } from "../schema/avatars.ts";
import type { AvatarOwner } from "./avatars.ts";

const previewAddress = (end: SQL) =>
  nullable(
    textJson(
      sql`${inputColumn("origin")} || ${sql.raw(`'${PREVIEW_PATH}/'`)} || ${avatars.previewToken} collate "C" ${end}`,
    ),
  );

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
  previewUrl: previewAddress(sql``),
  animatedPreviewUrl: previewAddress(sql.raw(`|| '${ANIMATED_PATH}'`)),
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

type ListParameters = AvatarOwner & { origin: string; before: string | null; limit: number };
type Filtered = ListParameters & { statuses: AvatarStatus[]; kinds: SourceKind[] };
const NAMES = ["tenantId", "environment", "origin", "before", "limit"] as const;
const FILTER_NAMES = [...NAMES, "statuses", "kinds"] as const;
const IS_NOT_DELETED = sql`${avatars.status} <> 'deleted'`;

/** The two statements of a choice of filters: for a page, and for the number of avatars. */
type Form<Query extends object> = { page: BatchKind<Query, WrittenPage>; count: BatchKind<Query, Total> };
const formOf = <Query extends object>(
  select: (shape: typeof pageStatement) => SQL,
  names: readonly (keyof Query & string)[],
): Form<Query> => ({
  page: pageReader<Query>("list_avatars", select(pageStatement), names),
  count: pageReader<Query, Total>("count_avatars", select(selectCount), names),
});

/** Without filters: `avatars_newest_index`, which leaves deleted avatars out. */
const ALL = formOf<ListParameters>((shape) => newestPage(LIST, OWNER, IS_NOT_DELETED, shape), NAMES);

/** Each status and kind is a range of `avatars_list_index`. */
const FILTERED = formOf<Filtered>(
  (shape) => rangesPage(LIST, OWNER, { status: avatars.status, kind: avatars.sourceKind }, shape),
  FILTER_NAMES,
);

const WANTED = sql`${LIMIT} + 1`;
const IN_ENVIRONMENT = sql`${avatars.environment} = ${inputColumn("environment")}`;
const searchedPage = (
  columns: Columns,
  parts: Pick<Search, "isListed" | "ranges">,
  condition: SQL,
  shape: typeof pageStatement,
): SQL => {
  const { where, orderBy } = newestRows(columns, avatars.id, inputColumn("before"), inputColumn("first"));
  const list = { ...LIST, tenantId: avatars.tenantId, name: avatars.displayName };
  const search = {
    ...parts,
    list,
    range: { where: sql`${where} and ${condition}`, orderBy },
    conditions: nameMatches(avatars.displayName),
    conditionColumns: [avatars.environment, avatars.status, avatars.sourceKind],
    wanted: WANTED,
  };
  const found = sql`(
    select avatars.* from found cross join lateral (
      select * from ${avatars} where ${avatars.tenantId} = ${inputColumn("tenantId")} and ${avatars.id} = found.id
    ) avatars
  ) avatars`;
  return sql`with ${searchTables(search)} ${shape(found, avatars.id, ITEM, sql`${avatars.id} desc`, restOfSearch(WANTED))}`;
};

const SEARCHED = formOf<ListParameters & SearchInputs>(
  (shape) => searchedPage(OWNER, { isListed: sql`${IN_ENVIRONMENT} and ${IS_NOT_DELETED}` }, IS_NOT_DELETED, shape),
  [...NAMES, "maxRead", ...SEARCH_INPUTS],
);
const SEARCHED_FILTERED = formOf<Filtered & SearchInputs>(
  (shape) =>
    searchedPage(
      [...OWNER, [avatars.status, sql`listed_status`], [avatars.sourceKind, sql`listed_kind`]],
      {
        isListed: sql`${IN_ENVIRONMENT} and ${avatars.status} = any(${inputColumn("statuses")}::text[])
        and ${avatars.sourceKind} = any(${inputColumn("kinds")}::text[])`,
        ranges: {
          from: sql`unnest(${inputColumn("statuses")}::text[]) listed_status
          cross join unnest(${inputColumn("kinds")}::text[]) listed_kind cross join`,
          name: sql`listed_status || listed_kind`,
        },
      },
      sql`true`,
      shape,
    ),
  [...FILTER_NAMES, "maxRead", ...SEARCH_INPUTS],
);

/** Sends the query of a page to the statement that `pick` selects from the form of its filters. */
const send = <Result>(
  db: Db,
  { tenantId, environment }: AvatarOwner,
  { filters, before, limit }: PageRequest<typeof AVATAR_LIST>,
  origin: string,
  pick: <Query extends object>(form: Form<Query>) => BatchKind<Query, Result>,
): Promise<Result> => {
  const { status, sourceKind } = filters;
  const page = { tenantId, environment, origin, before, limit };
  const kinds = sourceKind === undefined ? [...SOURCE_KINDS] : [sourceKind];
  const ranges = { statuses: listedStatuses(status), kinds };
  const isFiltered = status !== undefined || sourceKind !== undefined;
  if (isSearch(filters)) {
    const search = { ...page, ...searchInputs("ava", filters, before) };
    if (!isFiltered) return db.batch(pick(SEARCHED), search, tenantId);
    const maxRead = Math.ceil(search.maxRead / (ranges.statuses.length * kinds.length));
    return db.batch(pick(SEARCHED_FILTERED), { ...search, ...ranges, maxRead }, tenantId);
  }
  return isFiltered ? db.batch(pick(FILTERED), { ...page, ...ranges }, tenantId) : db.batch(pick(ALL), page, tenantId);
};

/**
 * The owner's newest avatars that `page` asks for. `origin`: scheme, host and port of public URLs. One statement,
 * shared by requests for the same page. With a name, a page can have fewer avatars than `limit`, or no avatars, and
 * still have a next page.
 */
export const listAvatars = (
  db: Db,
  owner: AvatarOwner,
  page: PageRequest<typeof AVATAR_LIST>,
  origin: string,
): Promise<WrittenPage> => send(db, owner, page, origin, (form) => form.page);

/**
 * How many of the owner's avatars match, at most `MAX_COUNTED`. Reads no more rows than a page of a search. One
 * statement.
 */
export const countAvatars = (
  db: Db,
  owner: AvatarOwner,
  filters: PageRequest<typeof AVATAR_LIST>["filters"],
): Promise<Total> => send(db, owner, { filters, before: null, limit: MAX_COUNTED }, "", (form) => form.count);
