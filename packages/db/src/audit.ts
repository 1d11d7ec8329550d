/** The audit trail: each write puts its event into the same statement. */
import type { ApiKeyRecord } from "@realtime-avatar/domain/api-key";
import type { Environment } from "@realtime-avatar/domain/api-key-secret";
import { AUDIT_EVENT_LIST, type AuditAction, type AuditEventRecord } from "@realtime-avatar/domain/audit";
import { newId, type RandomBytes, type TenantId } from "@realtime-avatar/domain/id";
import type { PageRequest } from "@realtime-avatar/domain/page";
import { type SQL, sql } from "drizzle-orm";
import type { Caller } from "./callers.ts";
import type { Db } from "./pool.ts";
import { auditEvents } from "./schema.ts";
import { columnsOf, insertFrom, newestOf, placeholders, rowValues, statement } from "./statement.ts";

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

type EventPage = PageRequest<typeof AUDIT_EVENT_LIST>;
type Filter = keyof EventPage["filters"];
const FILTERS = Object.keys(AUDIT_EVENT_LIST.filters.properties) as Filter[];

/** A live key manages test keys, so it sees what was done to them as well; of what else is in test, it sees nothing. */
const IS_VISIBLE = sql`(
  ${auditEvents.environment} = ${sql.placeholder("environment")}
  or (${sql.placeholder("environment")} = 'live' and ${auditEvents.targetId} like 'key\\_%')
)`;

const selectPage = (filters: readonly Filter[]) => {
  // The two filters that single out a few events have an index.
  const indexed = (["targetId", "actorKeyId"] as const).find((filter) => filters.includes(filter));
  const conditions = filters
    .filter((filter) => filter !== indexed)
    .map((filter) => sql`and ${auditEvents[filter]} = ${sql.placeholder(filter)}`);
  const range = newestOf(
    [
      ...(indexed ? [[auditEvents[indexed], sql.placeholder(indexed)] as const] : []),
      [auditEvents.tenantId, sql.placeholder("tenantId")],
    ],
    auditEvents.id,
    sql`coalesce(${sql.placeholder("before")}, 'aud~')`,
  );
  return statement<AuditEventRecord>(sql`
    select ${columnsOf(auditEvents)} from ${auditEvents}
    where ${range.where} and ${IS_VISIBLE} ${sql.join(conditions, sql` `)}
    order by ${range.orderBy} limit ${sql.placeholder("limit")}`);
};

/** A statement for each choice of filters, so that each is planned for the index that serves it. */
const pages = new Map<string, ReturnType<typeof selectPage>>();

/** The newest events that `page` asks for, of those that a key of `environment` may see, and one more. One statement. */
export const listAuditEvents = (
  db: Db,
  { tenantId, environment }: Pick<ApiKeyRecord, "tenantId" | "environment">,
  { filters, before, limit }: EventPage,
): Promise<AuditEventRecord[]> => {
  const given = FILTERS.filter((filter) => filters[filter] !== undefined);
  const name = given.join();
  const select = pages.get(name) ?? selectPage(given);
  pages.set(name, select);
  return select(db, { ...filters, tenantId, environment, before, limit: limit + 1 });
};
