/** Avatars in the database. */
import {
  type AVATAR_LIST,
  type Avatar,
  type AvatarRecord,
  listedStatuses,
  SOURCE_KINDS,
  type SourceKind,
  UpdateAvatar,
} from "@realtime-avatar/domain/avatar";
import type { AvatarId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import type { AvatarStatus } from "@realtime-avatar/domain/state";
import { getTableColumns, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { avatars } from "../schema.ts";
import { auditEvent, auditValues, insertAuditEvent, type Origin } from "./audit-events.ts";
import { CALLER, type Caller, callerValues } from "./callers.ts";
import { type Creation, creationOf } from "./create.ts";
import type { Claim, WriteOutcome } from "./idempotency-keys.ts";
import { nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "./json-text.ts";
import { LIMIT, pageOf, pageReader } from "./list.ts";
import {
  columnsOf,
  columnValues,
  givenColumns,
  givenRows,
  insertFrom,
  newestOf,
  rowValues,
  statement,
} from "./statement.ts";

const COLUMNS = Object.keys(getTableColumns(avatars)) as (keyof AvatarRecord)[];

const create = creationOf<Creation & { avatar: AvatarRecord }>({
  name: "create_avatar",
  columns: givenColumns("avatar", COLUMNS, ({ avatar }) => avatar),
  write: ({ from, column }) => sql`avatar as (${insertFrom(avatars, columnValues(avatars, "avatar", column), from)})`,
});

/**
 * Writes a new avatar and its audit event, and the response if it is claimed. Stale when the caller is no longer what it
 * was. One statement; another when it was not made by that, to be sure.
 */
export const insertAvatar = (
  db: Db,
  avatar: AvatarRecord,
  caller: Caller,
  origin: Origin,
  claim: Claim | null = null,
): Promise<WriteOutcome> =>
  // Avatars have no quota.
  create(db, {
    avatar,
    caller,
    audit: auditEvent("avatar.created", avatar, origin),
    claim,
  }) as Promise<WriteOutcome>;

/** The driver gives a bigint as text. */
type AvatarRow = Omit<AvatarRecord, "cacheVersion"> & { cacheVersion: string };
const toAvatar = (row: AvatarRow): AvatarRecord => ({ ...row, cacheVersion: Number(row.cacheVersion) });

/** Whose avatars: those of one tenant, in one environment. */
type Owner = Pick<AvatarRecord, "tenantId" | "environment">;
const IS_OWN = sql`
  ${avatars.tenantId} = ${sql.placeholder("tenantId")} and ${avatars.environment} = ${sql.placeholder("environment")}`;

const select = statement<AvatarRow>(sql`
  select ${columnsOf(avatars)} from ${avatars} where ${IS_OWN} and ${avatars.id} = ${sql.placeholder("id")}`);

type Wanted = Owner & { id: AvatarId };
const wanted = givenRows(
  "wanted",
  givenColumns<Wanted, Wanted>("wanted", ["tenantId", "environment", "id"], (one) => one),
  (all: readonly Wanted[]) => all,
);
const selectAll = statement<AvatarRow & { position: number }, readonly Wanted[]>(
  sql`select position::integer as "position", ${columnsOf(avatars)} from ${wanted.sql}
    join ${avatars} on ${avatars.tenantId} = "wanted.tenantId" collate "C" and ${avatars.id} = "wanted.id" collate "C"
      and ${avatars.environment} = "wanted.environment"`,
  wanted.readers,
);

/** Reads by id are gathered: one statement for all that come at the same time. */
const READS: BatchKind<Wanted, AvatarRecord | null> = {
  name: "find_avatar",
  inFlight: 2,
  run: async (db, all) => {
    const [first] = all;
    if (first && all.length === 1) {
      const [row] = await select(db, first);
      return [row ? toAvatar(row) : null];
    }
    const found = new Map((await selectAll(db, all)).map(({ position, ...row }) => [position, toAvatar(row)]));
    return all.map((_, index) => found.get(index + 1) ?? null);
  },
};
/** The avatar, in whatever state it is; `null` when the owner has none of this id. One statement. */
export const findAvatar = (db: Db, { tenantId, environment }: Owner, id: AvatarId): Promise<AvatarRecord | null> =>
  db.batch(READS, { tenantId, environment, id }, tenantId);

/** An avatar as the API shows it. */
const ITEM = objectJson<Avatar>({
  id: plainJson(avatars.id),
  tenantId: plainJson(avatars.tenantId),
  environment: plainJson(avatars.environment),
  displayName: textJson(avatars.displayName),
  sourceKind: plainJson(avatars.sourceKind),
  modelId: textJson(avatars.modelId),
  status: plainJson(avatars.status),
  sourceAssetId: nullable(textJson(avatars.sourceAssetId)),
  defaultVoiceId: nullable(textJson(avatars.defaultVoiceId)),
  cacheManifestId: nullable(textJson(avatars.cacheManifestId)),
  cacheVersion: rawJson(avatars.cacheVersion),
  settings: rawJson(avatars.settings),
  metadata: rawJson(avatars.metadata),
  createdAt: timeJson(avatars.createdAt),
  updatedAt: timeJson(avatars.updatedAt),
});

const BEFORE = sql`coalesce(${sql.placeholder("before")}, 'ava~')`;
const OWNER = [
  [avatars.environment, sql.placeholder("environment")],
  [avatars.tenantId, sql.placeholder("tenantId")],
] as const;

/** Without filters: `avatars_newest_index`, which leaves deleted avatars out, read from its newest end. */
const newest = newestOf(OWNER, avatars.id, BEFORE);
const ALL = pageReader<Owner & { before: AvatarId | null; limit: number }>(
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
  ["tenantId", "environment", "before", "limit"],
);

/** Each status and kind is a range of `avatars_list_index`, read from its newest end; the newest of all are kept. */
const range = newestOf(
  [...OWNER, [avatars.status, sql`listed_status`], [avatars.sourceKind, sql`listed_kind`]],
  avatars.id,
  BEFORE,
);
type Filtered = Owner & { statuses: AvatarStatus[]; sourceKinds: SourceKind[]; before: AvatarId | null; limit: number };
const FILTERED = pageReader<Filtered>(
  "list_avatars",
  pageOf(
    sql`(
      select avatars.*
      from unnest(${sql.placeholder("statuses")}::text[]) listed_status
      cross join unnest(${sql.placeholder("sourceKinds")}::text[]) listed_kind
      cross join lateral (
        select * from ${avatars} where ${range.where} order by ${range.orderBy} limit ${LIMIT} + 1
      ) avatars
      order by ${avatars.id} desc limit ${LIMIT} + 1
    ) avatars`,
    avatars.id,
    ITEM,
    sql`${avatars.id} desc`,
  ),
  ["tenantId", "environment", "statuses", "sourceKinds", "before", "limit"],
);

/** The owner's newest avatars that `page` asks for. One statement, which requests for the same page share. */
export const listAvatars = (
  db: Db,
  { tenantId, environment }: Owner,
  { filters: { status, sourceKind }, before, limit }: PageRequest<typeof AVATAR_LIST>,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, before, limit };
  if (status === undefined && sourceKind === undefined) return db.batch(ALL, page, tenantId);
  const statuses = listedStatuses(status);
  const sourceKinds = sourceKind === undefined ? [...SOURCE_KINDS] : [sourceKind];
  return db.batch(FILTERED, { ...page, statuses, sourceKinds }, tenantId);
};

/** What a change can set: the fields of `UpdateAvatar`, and each state that the domain allows. */
export type AvatarChanges = Omit<UpdateAvatar, "status"> & { status?: AvatarStatus };

/** The fields of `UpdateAvatar`: one that is added there is written here. */
const CHANGEABLE = Object.keys(UpdateAvatar.properties) as (keyof UpdateAvatar)[];
const found = (field: keyof UpdateAvatar) => sql`target.${sql.identifier(avatars[field].name)}`;

const assignments = CHANGEABLE.map((field) => {
  const column = avatars[field];
  const value = sql`${sql.placeholder(`to.${field}`)}::${sql.raw(column.getSQLType())}`;
  const isGiven = sql`${sql.raw(`'${field}'`)} = any(${sql.placeholder("given")}::text[])`;
  return sql`${sql.identifier(column.name)} = case when ${isGiven} then ${value} else ${found(field)} end`;
});

/** `json` has no equality of its own. */
const differences = CHANGEABLE.map(
  (field) =>
    sql`case when ${avatars[field]}::text is distinct from ${found(field)}::text then ${sql.raw(`'${field}'`)} end`,
);

const update = statement<AvatarRow & { isChanged: boolean }>(sql`
  with ${CALLER},
  target as materialized (
    select * from ${avatars}
    where exists (select from caller) and ${IS_OWN} and ${avatars.id} = ${sql.placeholder("id")}
    for no key update
  ),
  changed as (
    update ${avatars}
    set ${sql.join(assignments, sql`, `)}, version = target.version + 1, updated_at = ${sql.placeholder("now")}
    from target
    where ${avatars.tenantId} = target.tenant_id and ${avatars.id} = target.id
      and (${sql.placeholder("versions")}::text[] is null or target.version::text = any(${sql.placeholder("versions")}::text[]))
      and target.status = any(${sql.placeholder("statuses")}::text[])
    returning ${avatars}.*, array_remove(array[${sql.join(differences, sql`, `)}], null) as changed_fields
  ),
  audit as (${insertAuditEvent(sql`changed`, { changedFields: sql`changed.changed_fields` })})
  select ${columnsOf(avatars)}, avatars.is_changed as "isChanged"
  from caller left join (
    select *, null::text[] as changed_fields, false as is_changed from target where not exists (select from changed)
    union all
    select *, true from changed
  ) avatars on true`);

/** What became of a change of an avatar. */
export type UpdateAvatarOutcome =
  | { kind: "written"; avatar: AvatarRecord }
  /** Nothing was written: the avatar is in another status or version than the change needs. */
  | { kind: "unchanged"; avatar: AvatarRecord }
  /** There is no avatar of this id in the caller's tenant and environment. */
  | { kind: "not_found" }
  /** Nothing was written: the caller is no longer what it was when it was looked up. */
  | { kind: "stale" };

/**
 * Changes an avatar, if it is in one of `statuses` and, unless `versions` is null, in one of these versions, and writes
 * the audit event. A change that waits for another one is checked against what that one has left. One statement.
 */
export const updateAvatar = async (
  db: Db,
  id: AvatarId,
  changes: AvatarChanges,
  provided: { versions: readonly string[] | null; statuses: readonly AvatarStatus[] },
  caller: Caller,
  origin: Origin,
): Promise<UpdateAvatarOutcome> => {
  const { tenantId, environment } = caller;
  const action = changes.status === "deleted" ? "avatar.deleted" : "avatar.updated";
  const [row] = await update(db, {
    ...callerValues(caller),
    ...auditValues(action, { tenantId, environment, id }, origin),
    ...rowValues("to", Object.fromEntries(CHANGEABLE.map((field) => [field, changes[field] ?? null]))),
    given: Object.keys(changes),
    tenantId,
    environment,
    id,
    ...provided,
    now: origin.now,
  });
  if (!row) return { kind: "stale" };
  const { isChanged, ...avatar } = row;
  if (avatar.id === null) return { kind: "not_found" };
  return { kind: isChanged ? "written" : "unchanged", avatar: toAvatar(avatar) };
};
