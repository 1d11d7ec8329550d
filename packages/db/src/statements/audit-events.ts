/** The audit trail: each write puts its event into the same statement. */
import type { Environment } from "@realtime-avatar/domain/api-key-secret";
import {
  AUDIT_EVENT_LIST,
  type AuditAction,
  type AuditEvent,
  type AuditEventRecord,
} from "@realtime-avatar/domain/audit";
import { type AuditEventId, newId, type RandomBytes, type TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest, WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { auditEvents } from "../schema.ts";
import type { Caller } from "./callers.ts";
import { listJson, nullable, objectJson, plainJson, textJson, timeJson } from "./json-text.ts";
import { LIMIT, LOOK, pageOf, pageReader } from "./list.ts";
import { insertFrom, newestOf, placeholders, rowValues } from "./statement.ts";

/** Where a write comes from: who acts (null when no key does), by which request, and when. */
export type Origin = {
  actor: Pick<Caller, "id" | "credentialKeyId"> | null;
  requestId: string;
  now: Date;
  random: RandomBytes;
};

/** `insert` of the event that `auditValues` describes, for each row of `from`. */
export const insertAuditEvent = (from: SQL, values: { changedFields?: SQL } = {}): SQL =>
  insertFrom(auditEvents, { ...placeholders(auditEvents, "audit"), ...values }, from);

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

/** The values for `insertAuditEvent`. */
export const auditValues = (...of: Parameters<typeof auditEvent>): Record<string, unknown> =>
  rowValues("audit", auditEvent(...of));

/** An event as the API shows it. Actions and the ids of actors are written by the service alone. */
const ITEM = objectJson<AuditEvent>({
  id: plainJson(auditEvents.id),
  tenantId: plainJson(auditEvents.tenantId),
  environment: plainJson(auditEvents.environment),
  action: plainJson(auditEvents.action),
  targetId: textJson(auditEvents.targetId),
  changedFields: listJson(auditEvents.changedFields),
  actorId: nullable(plainJson(auditEvents.actorId)),
  actorKeyId: nullable(plainJson(auditEvents.actorKeyId)),
  requestId: textJson(auditEvents.requestId),
  createdAt: timeJson(auditEvents.createdAt),
});

type EventPage = PageRequest<typeof AUDIT_EVENT_LIST>;
type Filter = keyof EventPage["filters"];
const FILTERS = Object.keys(AUDIT_EVENT_LIST.filters.properties) as Filter[];
type EventsOf = Pick<AuditEventRecord, "tenantId" | "environment">;
type Asked = EventsOf & EventPage["filters"] & { before: AuditEventId | null; limit: number; lookedAt: number };

/**
 * How many events a page looks at, in the order of the index that serves it best. Of these it has those that the caller
 * may see and that meet the other filters. Each costs some 0.4 us.
 */
const LOOKED_AT = 5000;

/** A live key manages test keys, so it sees what was done to them as well; of what else is in test, it sees nothing. */
const IS_VISIBLE = sql`(
  ${auditEvents.environment} = ${sql.placeholder("environment")}
  or (${sql.placeholder("environment")} = 'live' and ${auditEvents.targetId} like 'key\\_%')
)`;

/** An index that holds the events of a page together: its first column, that column's value, and its predicate. */
type Index = { column: Column; value: Placeholder | SQL; predicate: SQL };
const TRUE = sql`true`;

const indexFor = ({ environment, targetId, actorKeyId, action }: Asked): Index | null => {
  if (targetId !== undefined) {
    return { column: auditEvents.targetId, value: sql.placeholder("targetId"), predicate: TRUE };
  }
  if (actorKeyId !== undefined) {
    return { column: auditEvents.actorKeyId, value: sql.placeholder("actorKeyId"), predicate: TRUE };
  }
  if (action !== undefined && action !== "avatar.created") {
    const predicate = sql`${auditEvents.action} <> 'avatar.created'`;
    return { column: auditEvents.action, value: sql.placeholder("action"), predicate };
  }
  if (environment === "test") {
    return {
      column: auditEvents.environment,
      value: sql`'test'`,
      predicate: sql`${auditEvents.environment} <> 'live'`,
    };
  }
  return null;
};

const selectPage = (filters: readonly Filter[], index: Index | null): SQL => {
  const conditions = filters
    .filter((filter) => auditEvents[filter] !== index?.column)
    .map((filter) => sql`and ${auditEvents[filter]} = ${sql.placeholder(filter)}`);
  const { where, orderBy } = newestOf(
    [
      ...(index ? [[index.column, index.value] as const] : []),
      [auditEvents.tenantId, sql.placeholder("tenantId")] as const,
    ],
    auditEvents.id,
    sql`coalesce(${sql.placeholder("before")}, 'aud~')`,
  );
  const inOrder = sql`from ${auditEvents} where ${where} and ${index?.predicate ?? TRUE} order by ${orderBy}`;
  return pageOf(
    sql`(
      select * from (select * ${inOrder} limit ${LOOK}) audit_events
      where ${IS_VISIBLE} ${sql.join(conditions, sql` `)}
      order by ${orderBy} limit ${LIMIT} + 1
    ) audit_events`,
    auditEvents.id,
    ITEM,
    orderBy,
    sql`(select ${auditEvents.id} ${inOrder} limit 1 offset ${LOOK} - 1)`,
  );
};

const PAGE = ["tenantId", "environment", "before", "limit", "lookedAt"] as const;
/** A statement for each choice of filters and index. */
const pages = new Map<string, BatchKind<Asked, WrittenPage>>();

/**
 * The newest events that `page` asks for, of those that a key of `environment` may see. One statement, which requests for
 * the same page share.
 */
export const listAuditEvents = (
  db: Db,
  { tenantId, environment }: EventsOf,
  { filters, before, limit }: EventPage,
): Promise<WrittenPage> => {
  const asked: Asked = { tenantId, environment, ...filters, before, limit, lookedAt: LOOKED_AT };
  const given = FILTERS.filter((filter) => filters[filter] !== undefined);
  const index = indexFor(asked);
  const name = [index?.column.name, ...given].join();
  const reader =
    pages.get(name) ?? pageReader<Asked>("list_audit_events", selectPage(given, index), [...PAGE, ...given]);
  pages.set(name, reader);
  return db.batch(reader, asked, tenantId);
};
