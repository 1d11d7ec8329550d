/** The audit trail. The database function that makes a write inserts its event. */
import type { AuditAction, AuditEvent, AuditEventRecord, AuditPageRequest } from "@realtime-avatar/domain/audit";
import type { Environment } from "@realtime-avatar/domain/environment";
import { type AuditEventId, firstIdAt, newId, type RandomBytes, type TenantId } from "@realtime-avatar/domain/id";
import type { Total, WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../callers/callers.ts";
import type { Db } from "../connection/pool.ts";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { boundedPage, COUNTED, listStatements, NONE, type pageStatement } from "../query/list.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { auditEvents } from "../schema/audit.ts";
import { objectName } from "../schema/names.ts";

/** The origin of a write: its actor (null for the operator and the service), its request, and its time. */
export type Origin = {
  actor: Pick<AnyCaller, "id" | "credentialKeyId"> | null;
  requestId: string;
  now: Date;
  random: RandomBytes;
};

/** The event of a write. */
export const auditEvent = (
  action: AuditAction,
  target: { tenantId: TenantId; environment: Environment; id: string },
  origin: Origin,
  changedFields: readonly string[] = [],
): AuditEventRecord => ({
  tenantId: target.tenantId,
  id: newId("aud", origin.now, origin.random),
  environment: target.environment,
  actorId: origin.actor?.id ?? null,
  actorKeyId: origin.actor?.credentialKeyId ?? null,
  action,
  targetId: target.id,
  changedFields,
  requestId: origin.requestId,
  createdAt: origin.now,
});

const nameOf = (id: Column) => nullable(textJson(objectName(auditEvents.tenantId, id, inputColumn("environment"))));

/** An event as the API shows it. Only the service writes actions and the ids of actors, so they need no escape. */
const ITEM = objectJson<AuditEvent>({
  id: plainJson(auditEvents.id),
  tenantId: plainJson(auditEvents.tenantId),
  environment: plainJson(auditEvents.environment),
  action: plainJson(auditEvents.action),
  targetId: textJson(auditEvents.targetId),
  targetName: nameOf(auditEvents.targetId),
  changedFields: listJson(auditEvents.changedFields),
  actorType: rawJson(
    sql`case when ${auditEvents.actorId} is null then 'null' when ${auditEvents.actorId} like 'usr\\_%' then '"user"' else '"api_key"' end`,
  ),
  actorId: nullable(plainJson(auditEvents.actorId)),
  actorName: nameOf(auditEvents.actorId),
  actorKeyId: nullable(plainJson(auditEvents.actorKeyId)),
  requestId: textJson(auditEvents.requestId),
  createdAt: timeJson(auditEvents.createdAt),
});

const FILTERS = [
  "action",
  "targetId",
  "actorId",
  "actorKeyId",
] as const satisfies (keyof AuditPageRequest["filters"])[];
type Filter = (typeof FILTERS)[number];
type EventsOf = Pick<AuditEventRecord, "tenantId" | "environment">;
type PageQuery = EventsOf & { [Name in Filter]?: string } & {
  /** A window of time is a range of ids, because an id begins with the time. */
  first: string;
  before: string;
  limit: number;
  maxRead: number;
};

/**
 * The maximum number of events that a page reads, in the order of the index that serves it best. The page contains the
 * events that the caller may see and that meet the other filters. Each event costs some 0.4 us.
 */
const MAX_ROWS_READ = 5000;

/** A live key manages test keys. So it also sees their events, but no other events in test. */
const IS_VISIBLE = sql`(
  ${auditEvents.environment} = ${inputColumn("environment")}
  or (${inputColumn("environment")} = 'live' and ${auditEvents.targetId} like 'key\\_%')
)`;

/** An index in which the events of a page are adjacent: its first column, that column's value, and its predicate. */
type Index = { column: Column; value: SQL; predicate: SQL };
const indexOn = (name: Filter | "environment", predicate: SQL = sql`true`): Index => ({
  column: auditEvents[name],
  value: inputColumn(name),
  predicate,
});
const INDEXES = {
  targetId: indexOn("targetId"),
  actorKeyId: indexOn("actorKeyId"),
  actorId: indexOn("actorId"),
  action: indexOn("action", sql`${auditEvents.action} <> 'avatar.created'`),
  environment: { ...indexOn("environment", sql`${auditEvents.environment} <> 'live'`), value: sql`'test'` },
} as const satisfies Record<string, Index>;
type IndexName = keyof typeof INDEXES;

/** The best index for these filters; null: the index of all events of the tenant. */
const indexFor = ({ environment, targetId, actorId, actorKeyId, action }: PageQuery): IndexName | null => {
  if (targetId !== undefined) return "targetId";
  if (actorKeyId !== undefined) return "actorKeyId";
  if (actorId !== undefined) return "actorId";
  if (action !== undefined && action !== "avatar.created") return "action";
  return environment === "test" ? "environment" : null;
};

const select = (shape: typeof pageStatement, indexName: IndexName | null, filters: readonly Filter[]): SQL => {
  const index = indexName && INDEXES[indexName];
  const conditions = filters
    .filter((filter) => auditEvents[filter] !== index?.column)
    .map((filter) => sql`${auditEvents[filter]} = ${inputColumn(filter)}`);
  const columns = [
    ...(index ? [[index.column, index.value] as const] : []),
    [auditEvents.tenantId, inputColumn("tenantId")] as const,
  ];
  const { where, orderBy } = newestRows(columns, auditEvents.id, inputColumn("before"), inputColumn("first"));
  const read = { where: sql`${where} and ${index?.predicate ?? sql`true`}`, orderBy };
  const list = { table: auditEvents, id: auditEvents.id, item: ITEM };
  return boundedPage(list, read, [IS_VISIBLE, ...conditions], { shape });
};

const STATEMENTS = listStatements<PageQuery, [index: IndexName | null, ...filters: Filter[]]>(
  { page: "list_audit_events", count: "count_audit_events" },
  (index, ...filters) => ({
    select: (shape) => select(shape, index, filters),
    fields: ["tenantId", "environment", "first", "before", "limit", "maxRead", ...filters],
  }),
);

/** The values of a statement, and the filters that select it. */
const queryOf = (
  { tenantId, environment }: EventsOf,
  { from, to, ...filters }: AuditPageRequest["filters"],
  { before, limit, maxRead }: { before: AuditEventId | null; limit: number; maxRead: number },
) => {
  const range = {
    first: from === undefined ? "aud_" : firstIdAt("aud", new Date(from)),
    before: before ?? (to === undefined ? "aud~" : firstIdAt("aud", new Date(to))),
  };
  const query: PageQuery = { tenantId, environment, ...filters, ...range, limit, maxRead };
  const form = [indexFor(query), ...FILTERS.filter((filter) => filters[filter] !== undefined)] as const;
  return { query, form };
};

/**
 * The newest events that `page` asks for and that a key of `environment` may see. One statement, shared by requests for
 * the same page.
 */
export const listAuditEvents = (
  db: Db,
  of: EventsOf,
  { filters, before, limit }: AuditPageRequest,
): Promise<WrittenPage> => {
  const { query, form } = queryOf(of, filters, { before, limit, maxRead: MAX_ROWS_READ });
  return db.batch(STATEMENTS.page(...form), query, of.tenantId);
};

/** How many of the newest `MAX_COUNTED` events match. One statement. */
export const countAuditEvents = async (db: Db, of: EventsOf, filters: AuditPageRequest["filters"]): Promise<Total> => {
  const { query, form } = queryOf(of, filters, COUNTED);
  return (await db.batch(STATEMENTS.count(...form), query, of.tenantId)) ?? NONE;
};
