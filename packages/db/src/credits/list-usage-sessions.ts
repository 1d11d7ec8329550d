/** Lists and sums of usage sessions. */
import type { OpenSessionCounts } from "@realtime-avatar/domain/credits/open";
import { type ConversationSum, MAX_SESSIONS_OF_SUMMARY, type UsageSum } from "@realtime-avatar/domain/credits/schemas";
import type { SessionPageRequest, SummaryPageRequest } from "@realtime-avatar/domain/credits/session-list";
import { type ApiKeyId, firstIdAt, type SessionId } from "@realtime-avatar/domain/id";
import type { Total, WrittenPage } from "@realtime-avatar/domain/page";
import { type Column, type SQL, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { batchedRead } from "../query/batched-read.ts";
import { nullable, objectJson, plainJson, rawJson, textJson } from "../query/json-text.ts";
import {
  boundedPage,
  COUNTED,
  LIMIT,
  listStatements,
  MAX_READ,
  NONE,
  pageReader,
  pageStatement,
} from "../query/list.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";
import { callTickets, conversationUsage, isWaiting } from "../schema/calls.ts";
import { usageSessions } from "../schema/credits.ts";
import { apiKeyName, avatarName } from "../schema/names.ts";
import { type Owner, SESSION } from "./find-usage-session.ts";

/**
 * The ids of a window. An id begins with the time of creation, so a window of time is a range of ids. Its list is read
 * in the order of the same index as any other list.
 */
type IdRange = { first: SessionId; before: SessionId };
const idsOf = ({ from, to }: { from: string; to: string }, before: SessionId | null): IdRange => ({
  first: firstIdAt("ses", new Date(from)),
  before: before ?? firstIdAt("ses", new Date(to)),
});

const OWNER: readonly (readonly [Column, SQL])[] = [
  [usageSessions.environment, inputColumn("environment")],
  [usageSessions.tenantId, inputColumn("tenantId")],
];
/** The sessions of the owner in a window, newest first, by the index that begins with `first`. */
const newestBy = (first: readonly (readonly [Column | SQL, SQL])[]) =>
  newestRows([...first, ...OWNER], usageSessions.id, inputColumn("before"), inputColumn("first"));

const USER_ID = sql`(${usageSessions.metadata} ->> 'user_id')`;
/** Filters without an index: they are applied to the rows that are read. */
const UNINDEXED = {
  status: sql`${usageSessions.status} = ${inputColumn("status")}`,
  apiKeyId: sql`${usageSessions.apiKeyId} = ${inputColumn("apiKeyId")}`,
  avatarId: sql`${usageSessions.avatarId} = ${inputColumn("avatarId")}`,
  kind: sql`(${usageSessions.videoId} is null) = (${inputColumn("kind")} = 'call')`,
};
type Unindexed = keyof typeof UNINDEXED;
const UNINDEXED_NAMES = Object.keys(UNINDEXED) as Unindexed[];

type SessionsOf = Owner &
  IdRange & { limit: number; maxRead: number; endUserId?: string } & { [Name in Unindexed]?: string };
/** The maximum number of sessions that a page reads when filters omit some. */
const MAX_ROWS_READ = 5000;

/** The text of the statement for one of 32 choices of filters. */
const select = (shape: typeof pageStatement, hasEndUser: boolean, filters: readonly Unindexed[]): SQL => {
  const { where, orderBy } = newestBy(hasEndUser ? [[USER_ID, inputColumn("endUserId")]] : []);
  const conditions = filters.map((filter) => UNINDEXED[filter]);
  const list = { table: usageSessions, id: usageSessions.id, item: SESSION };
  if (!hasEndUser) return boundedPage(list, { where, orderBy }, conditions, { shape });
  // The index of end users contains only sessions with an end user.
  const read = { where: sql`${where} and ${USER_ID} is not null`, orderBy };
  // The same order for the read rows. Their end user is a column, whose order the server knows.
  const ofRead = newestBy([[sql`end_user_id`, inputColumn("endUserId")]]).orderBy;
  return boundedPage(list, read, conditions, { also: sql`, ${USER_ID} as end_user_id`, orderBy: ofRead, shape });
};

const STATEMENTS = listStatements<SessionsOf, [hasEndUser: boolean, ...filters: Unindexed[]]>(
  { page: "list_usage_sessions", count: "count_usage_sessions" },
  (hasEndUser, ...filters) => ({
    select: (shape) => select(shape, hasEndUser, filters),
    fields: [
      ...(["tenantId", "environment", "first", "before", "limit", "maxRead"] as const),
      ...(hasEndUser ? (["endUserId"] as const) : []),
      ...filters,
    ],
  }),
);
const formOf = (filters: SessionPageRequest["filters"]) =>
  [filters.endUserId !== undefined, ...UNINDEXED_NAMES.filter((filter) => filters[filter] !== undefined)] as const;

/** The newest sessions of the owner that `page` asks for. One statement, shared by requests for the same page. */
export const listUsageSessions = (
  db: Db,
  { tenantId, environment }: Owner,
  { filters: { from, to, ...filters }, before, limit }: SessionPageRequest,
): Promise<WrittenPage> => {
  const page = { tenantId, environment, ...idsOf({ from, to }, before), limit, maxRead: MAX_ROWS_READ, ...filters };
  return db.batch(STATEMENTS.page(...formOf({ from, to, ...filters })), page, tenantId);
};

/** How many of the owner's newest `MAX_COUNTED` sessions of the window match. One statement. */
export const countUsageSessions = async (
  db: Db,
  { tenantId, environment }: Owner,
  { from, to, ...filters }: SessionPageRequest["filters"],
): Promise<Total> => {
  const query = { tenantId, environment, ...COUNTED, ...idsOf({ from, to }, null), ...filters };
  return (await db.batch(STATEMENTS.count(...formOf({ from, to, ...filters })), query, tenantId)) ?? NONE;
};

type OpenSessionsOf = Owner & { apiKeyId: string | null; before: SessionId | null; limit: number; maxRead: number };
/** A bound above the number of open sessions of a tenant. The sessions are sorted, with 300 bytes each. */
const MAX_OPEN_READ = 100_000;
const LEASE = sql`(${usageSessions.tenantId}, ${usageSessions.sweepAt})`;

/**
 * Reads the open sessions of the tenant by their index, and sorts them: they are few compared with the ended ones. The
 * comparison of rows, the inner order and its limit make the server choose this index. If one of these is missing, it
 * reads another index and all sessions of the tenant.
 */
const selectOpen = (): SQL => {
  const tenantId = sql`${inputColumn("tenantId")} collate "C"`;
  const orderBy = sql`${usageSessions.id} desc`;
  return pageStatement(
    sql`(
      select * from (
        select * from ${usageSessions}
        where ${usageSessions.endedAt} is null
          and ${LEASE} >= (${tenantId}, '-infinity') and ${LEASE} <= (${tenantId}, 'infinity')
        order by ${usageSessions.tenantId}, ${usageSessions.sweepAt}
        limit ${MAX_READ}
      ) usage_sessions
      where ${usageSessions.environment} = ${inputColumn("environment")}
        and ${usageSessions.apiKeyId} = coalesce(${inputColumn("apiKeyId")}, ${usageSessions.apiKeyId})
        and ${usageSessions.id} < coalesce(${inputColumn("before")}, 'ses~')
      order by ${orderBy} limit ${LIMIT} + 1
    ) usage_sessions`,
    usageSessions.id,
    SESSION,
    orderBy,
  );
};
const OPEN_SESSIONS = pageReader<OpenSessionsOf>("list_open_sessions", selectOpen(), [
  "tenantId",
  "environment",
  "apiKeyId",
  "before",
  "limit",
  "maxRead",
]);

/** The newest open sessions of the owner, created at any time, of one key if `apiKeyId` names it. One statement. */
export const listOpenSessions = (
  db: Db,
  { tenantId, environment }: Owner,
  { apiKeyId, before, limit }: { apiKeyId?: string | undefined; before: SessionId | null; limit: number },
): Promise<WrittenPage> =>
  db.batch(
    OPEN_SESSIONS,
    { tenantId, environment, apiKeyId: apiKeyId ?? null, before, limit, maxRead: MAX_OPEN_READ },
    tenantId,
  );

const COUNTS = batchedRead<OpenSessionCounts, Owner & { id: ApiKeyId }, OpenSessionCounts>(
  "count_open_sessions",
  ["tenantId", "environment", "id"],
  (inputs) => sql`
    select position::integer as "position", counts.active as "activeSessions", counts.connecting as "connectingSessions", (
      select count(*)::integer from ${callTickets}
      join ${apiKeys} on ${apiKeys.tenantId} = ${callTickets.tenantId} and ${apiKeys.id} = ${callTickets.apiKeyId}
      where ${callTickets.tenantId} = ${inputColumn("tenantId")} and ${isWaiting}
        and ${apiKeys.environment} = ${inputColumn("environment")}
        and ${inputColumn("id")} = any(${apiKeys.lineage} || ${apiKeys.id})
    ) as "pendingSessions"
    from ${inputs}
    cross join lateral (
      select count(*) filter (where status = 'started')::integer as active,
        count(*) filter (where status = 'reserved')::integer as connecting
      from (
        select * from ${usageSessions}
        where ${usageSessions.endedAt} is null
          and ${LEASE} >= (${inputColumn("tenantId")} collate "C", '-infinity')
          and ${LEASE} <= (${inputColumn("tenantId")} collate "C", 'infinity')
        order by ${usageSessions.tenantId}, ${usageSessions.sweepAt}
        limit (select ${sql.raw(`${MAX_OPEN_READ}`)}::bigint)
      ) usage_sessions
      where ${usageSessions.environment} = ${inputColumn("environment")}
        and ${usageSessions.videoId} is null and ${inputColumn("id")} = any(${usageSessions.lineage})
    ) counts`,
  (counts) => counts,
);

/**
 * How many sessions of a key and its descendants are open or wait for a slot, in the key's environment. One statement.
 */
export const countOpenSessions = async (
  db: Db,
  { tenantId, environment, id }: Owner & { id: ApiKeyId },
): Promise<OpenSessionCounts> =>
  (await db.batch(COUNTS, { tenantId, environment, id }, tenantId)) ?? {
    activeSessions: 0,
    connectingSessions: 0,
    pendingSessions: 0,
  };

/** A sum as the API shows it, from the columns of `selectSums`. */
const SUM = objectJson<UsageSum>({
  day: plainJson(sql`to_char(day, 'YYYY-MM-DD')`),
  apiKeyId: nullable(plainJson(sql`api_key_id`)),
  apiKeyName: nullable(textJson(apiKeyName(inputColumn("tenantId"), sql`api_key_id`))),
  avatarId: nullable(plainJson(sql`avatar_id`)),
  avatarName: nullable(textJson(avatarName(inputColumn("tenantId"), sql`avatar_id`))),
  sessions: rawJson(sql`sessions`),
  activeSeconds: rawJson(sql`active_seconds`),
  billedCreditMicros: rawJson(sql`billed`),
  reservedCreditMicros: rawJson(sql`held`),
});

type SumsOf = Owner &
  IdRange & {
    groupBy: SummaryPageRequest["filters"]["groupBy"];
    maxRead: number;
    /** The first day of the conversations that the page sums up; null: none, because this is not the first page. */
    firstDay: string | null;
    lastDay: string | null;
  };
type SumsPage = WrittenPage & { conversations: ConversationSum[] };

/**
 * Sums over the newest sessions of a window, at most `MAX_SESSIONS_OF_SUMMARY` in one page: 5,000 take some 10 ms. A
 * day that does not fit into a page continues in the next page.
 */
const selectSums = (): SQL => {
  const { where, orderBy } = newestBy([]);
  const inOrder = sql`from ${usageSessions} where ${where} order by ${orderBy}`;
  const isOpen = sql`${usageSessions.endedAt} is null`;
  const seconds = sql`ceil(extract(epoch from ${usageSessions.endedAt} - ${usageSessions.startedAt}))`;
  return sql`
    select coalesce(string_agg(${SUM}, ',' order by day desc, api_key_id, avatar_id), '') as "items",
      (select ${usageSessions.id} ${inOrder} limit 1 offset ${MAX_READ} - 1) as "next",
      (
        select coalesce(json_agg(json_build_object(
          'day', used.day, 'inputTokens', used.input_tokens, 'outputTokens', used.output_tokens,
          'estimatedTokens', used.estimated_tokens, 'heardSeconds', used.heard_seconds, 'spokenCharacters', used.spoken_characters
        ) order by used.day desc), '[]')
        from ${conversationUsage} used
        where used.tenant_id = ${inputColumn("tenantId")} and used.environment = ${inputColumn("environment")}
          and used.day between ${inputColumn("firstDay")}::date and ${inputColumn("lastDay")}::date
      ) as "conversations"
    from (
      select (${usageSessions.createdAt} at time zone 'UTC')::date as day,
        case when ${inputColumn("groupBy")} = 'apiKey' then ${usageSessions.apiKeyId} end as api_key_id,
        case when ${inputColumn("groupBy")} = 'avatar' then ${usageSessions.avatarId} end as avatar_id,
        count(*) as sessions,
        coalesce(sum(${seconds}), 0)::bigint as active_seconds,
        coalesce(sum(${usageSessions.used}) filter (where not ${isOpen}), 0)::bigint as billed,
        coalesce(sum(${usageSessions.reserved}) filter (where ${isOpen}), 0)::bigint as held
      from (select * ${inOrder} limit ${MAX_READ}) usage_sessions
      group by 1, 2, 3
    ) sums`;
};
const SUMS = pageReader<SumsOf, SumsPage>("sum_usage_sessions", selectSums(), [
  "tenantId",
  "environment",
  "first",
  "before",
  "groupBy",
  "maxRead",
  "firstDay",
  "lastDay",
]);

/** The date of a time, within the years that PostgreSQL reads in this form. */
const dayOf = (time: Date): string => {
  const year = time.getUTCFullYear();
  if (year < 1) return "0001-01-01";
  return year > 9999 ? "9999-12-31" : time.toISOString().slice(0, 10);
};

/** A page of the sums that `page` asks for. One statement, shared by requests for the same page. */
export const sumUsageSessions = (
  db: Db,
  { tenantId, environment }: Owner,
  { filters: { groupBy, ...window }, before }: SummaryPageRequest,
): Promise<SumsPage> => {
  const page = {
    ...{ tenantId, environment, ...idsOf(window, before), groupBy, maxRead: MAX_SESSIONS_OF_SUMMARY },
    firstDay: before === null ? dayOf(new Date(window.from)) : null,
    // The end of the window is exclusive.
    lastDay: before === null ? dayOf(new Date(Date.parse(window.to) - 1)) : null,
  };
  return db.batch(SUMS, page, tenantId);
};
