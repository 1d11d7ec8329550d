/** Lists of API keys. */
import type { API_KEY_LIST, ApiKeyWithCreator } from "@realtime-avatar/domain/api-keys/schemas";
import type { ApiKeyStatus } from "@realtime-avatar/domain/api-keys/status";
import { ENVIRONMENTS, type Environment } from "@realtime-avatar/domain/environment";
import type { TenantId } from "@realtime-avatar/domain/id";
import { MAX_COUNTED, type PageRequest, type Total, type WrittenPage } from "@realtime-avatar/domain/page";
import { type SQL, sql } from "drizzle-orm";
import { LINEAGE, METER, STATUS } from "../callers/record.ts";
import type { BatchKind } from "../connection/batch.ts";
import type { Db } from "../connection/pool.ts";
import { listJson, nullable, objectJson, plainJson, rawJson, textJson, timeJson } from "../query/json-text.ts";
import { LIMIT, listStatements, MAX_READ, NONE, pageStatement } from "../query/list.ts";
import {
  isSearch,
  nameMatches,
  restOfSearch,
  SEARCH_INPUTS,
  type SearchInputs,
  searchInputs,
  searchTables,
} from "../query/search.ts";
import { inputColumn, newestRows } from "../query/statement.ts";
import { apiKeys, apiKeyUsage } from "../schema/api-keys.ts";
import { objectName } from "../schema/names.ts";
import { selectCreator } from "./creator.ts";

const CREATOR = selectCreator(apiKeys.tenantId, apiKeys.id);

/** A key as the API shows it, to be selected from `api_keys`, `LINEAGE`, `METER` and `CREATOR`. */
const ITEM = objectJson<ApiKeyWithCreator>({
  id: plainJson(apiKeys.id),
  keyId: plainJson(apiKeys.keyId),
  tenantId: plainJson(apiKeys.tenantId),
  // The eldest ancestor comes first. The last one is the parent.
  parentId: nullable(plainJson(sql`${apiKeys.lineage}[cardinality(${apiKeys.lineage})]`)),
  name: textJson(apiKeys.name),
  environment: plainJson(apiKeys.environment),
  redactedKey: plainJson(sql`'rta_' || ${apiKeys.environment} || '_' || ${apiKeys.keyId} || '_****'`),
  scopes: listJson(apiKeys.scopes),
  status: plainJson(STATUS),
  spendLimitCreditMicros: nullable(rawJson(apiKeys.spendLimitCreditMicros)),
  // `least` skips NULLs.
  effectiveSpendLimitCreditMicros: nullable(
    rawJson(sql`least(${apiKeys.spendLimitCreditMicros}, ancestry.spend_limit_credit_micros)`),
  ),
  spentCreditMicros: rawJson(sql`meter.settled`),
  reservedCreditMicros: rawJson(sql`meter.reserved`),
  maxConcurrentSessions: nullable(rawJson(apiKeys.maxConcurrentSessions)),
  effectiveMaxConcurrentSessions: nullable(
    rawJson(sql`least(${apiKeys.maxConcurrentSessions}, ancestry.max_concurrent_sessions)`),
  ),
  expiresAt: nullable(timeJson(apiKeys.expiresAt)),
  effectiveExpiresAt: nullable(timeJson(sql`least(${apiKeys.expiresAt}, ancestry.expires_at)`)),
  lastUsedAt: nullable(
    timeJson(sql`(
      select ${apiKeyUsage.lastUsedAt} from ${apiKeyUsage}
      where ${apiKeyUsage.tenantId} = ${apiKeys.tenantId} and ${apiKeyUsage.apiKeyId} = ${apiKeys.id}
    )`),
  ),
  createdAt: timeJson(apiKeys.createdAt),
  createdBy: nullable(plainJson(sql`creator.id`)),
  createdByName: nullable(textJson(objectName(apiKeys.tenantId, sql`creator.id`, inputColumn("reader")))),
});

/**
 * The maximum number of keys that a page with a status reads. Each costs some 6 us, because its whole lineage is read.
 */
const MAX_ROWS_READ = 1000;

/**
 * Without a revoked key, a tenant has no key with a revoked ancestor. The same holds for expired keys. Then no key is
 * read.
 */
const MAY_HAVE: Record<ApiKeyStatus, SQL> = {
  active: sql`true`,
  revoked: sql`exists (
    select from ${apiKeys} revoked where revoked.tenant_id = ${inputColumn("tenantId")} and revoked.revoked_at is not null
  )`,
  expired: sql`exists (
    select from ${apiKeys} expired where expired.tenant_id = ${inputColumn("tenantId")} and expired.expires_at <= now()
  )`,
};

type PageQuery = {
  tenantId: TenantId;
  /** Null for all. */
  environment: Environment | null;
  /** The environment of the caller. */
  reader: Environment;
  status: ApiKeyStatus | null;
  before: string | null;
  limit: number;
  maxRead: number;
} & Partial<SearchInputs> & { ancestorId?: string | null };

/**
 * The parts of a request that select the statement: whether it reads both environments, the status, and whether it
 * searches.
 */
type Form = readonly [isAll: boolean, status: ApiKeyStatus | null, isSearched: boolean];

/** The joins that the JSON of a key needs. A count needs no joins. */
const shownOf = (shape: typeof pageStatement): SQL =>
  shape === pageStatement ? sql`${LINEAGE} ${METER} ${CREATOR}` : sql``;

/**
 * Keys of both environments are read in the order of the primary key, keys of one environment in the order of
 * `api_keys_environment_index`. A status follows from the whole lineage, so no index has it. The newest keys are read
 * one by one, up to `MAX_ROWS_READ` for one page.
 */
const selectPage = ([isAll, status]: Form, shape: typeof pageStatement): SQL => {
  const tenant = [apiKeys.tenantId, inputColumn("tenantId")] as const;
  const { where, orderBy } = newestRows(
    isAll ? [tenant] : [[apiKeys.environment, inputColumn("environment")], tenant],
    apiKeys.id,
    sql`coalesce(${inputColumn("before")}, 'key~')`,
  );
  if (status === null) {
    const found = sql`(select * from ${apiKeys} where ${where} order by ${orderBy} limit ${LIMIT} + 1) api_keys`;
    return shape(sql`${found} ${shownOf(shape)}`, apiKeys.id, ITEM, orderBy);
  }
  const inOrder = sql`from ${apiKeys} where ${where} and ${MAY_HAVE[status]} order by ${orderBy}`;
  return shape(
    sql`(
      select api_keys.* from (select * ${inOrder} limit ${MAX_READ}) api_keys ${LINEAGE}
      where ${STATUS} = ${inputColumn("status")}
      order by ${orderBy} limit ${LIMIT} + 1
    ) api_keys ${shownOf(shape)}`,
    apiKeys.id,
    ITEM,
    orderBy,
    sql`(select ${apiKeys.id} ${inOrder} limit 1 offset ${MAX_READ} - 1)`,
  );
};

/**
 * The maximum number of found keys that a search with a status examines. Each costs some 6 us, because its whole
 * lineage is read.
 */
const MAX_CANDIDATES = sql.raw(String(MAX_ROWS_READ));

/** Like `selectPage`, for a part of a name, a range of ids, or the descendants of a key. */
const searchPage = ([isAll, status]: Form, shape: typeof pageStatement): SQL => {
  const tenant = [apiKeys.tenantId, inputColumn("tenantId")] as const;
  const environmentIs = [apiKeys.environment, inputColumn("environment")] as const;
  const { where, orderBy } = newestRows(
    isAll ? [tenant] : [environmentIs, tenant],
    apiKeys.id,
    inputColumn("before"),
    inputColumn("first"),
  );
  const wanted = status === null ? sql`${LIMIT} + 1` : MAX_CANDIDATES;
  const tables = searchTables({
    list: { table: apiKeys, id: apiKeys.id, tenantId: apiKeys.tenantId, name: apiKeys.name },
    range: { where: status === null ? where : sql`${where} and ${MAY_HAVE[status]}`, orderBy },
    conditions: sql`${nameMatches(apiKeys.name)}
      and (${inputColumn("ancestorId")} is null or ${inputColumn("ancestorId")} = any(${apiKeys.lineage}))`,
    conditionColumns: [apiKeys.environment, apiKeys.lineage],
    isListed: isAll ? sql`true` : sql`${apiKeys.environment} = ${inputColumn("environment")}`,
    wanted,
  });
  const newest = sql`${apiKeys.id} desc`;
  const found = sql`(
    select api_keys.* from found cross join lateral (
      select * from ${apiKeys} where ${apiKeys.tenantId} = ${inputColumn("tenantId")} and ${apiKeys.id} = found.id
    ) api_keys ${status === null ? sql`` : sql`${LINEAGE} where ${STATUS} = ${inputColumn("status")}`}
    order by ${newest} limit ${LIMIT} + 1
  ) api_keys ${shownOf(shape)}`;
  return sql`with ${tables} ${shape(found, apiKeys.id, ITEM, newest, restOfSearch(wanted))}`;
};

const QUERY_FIELDS = ["tenantId", "environment", "reader", "status", "before", "limit", "maxRead"] as const;
const SEARCH_FIELDS = [...QUERY_FIELDS, ...SEARCH_INPUTS, "ancestorId"] as const;
const STATEMENTS = listStatements<PageQuery, Form>({ page: "list_api_keys", count: "count_api_keys" }, (...form) => {
  const [, , isSearched] = form;
  return {
    select: (shape) => (isSearched ? searchPage(form, shape) : selectPage(form, shape)),
    fields: isSearched ? SEARCH_FIELDS : QUERY_FIELDS,
  };
});

type KeyPageRequest = PageRequest<typeof API_KEY_LIST>;

/** Reads with one of `statements`; null for an environment that the caller cannot see. */
const send = async <Result>(
  db: Db,
  tenantId: TenantId,
  environments: readonly Environment[],
  { filters, before, limit }: KeyPageRequest,
  maxRead: number,
  statements: (...form: Form) => BatchKind<PageQuery, Result>,
): Promise<Result | null> => {
  const listed = environments.filter((known) => (filters.environment ?? known) === known);
  const [environment] = listed;
  if (environment === undefined) return null;
  const isAll = listed.length === ENVIRONMENTS.length;
  const { status = null, ancestorId = null } = filters;
  const query: PageQuery = {
    tenantId,
    environment: isAll ? null : environment,
    reader: environments.includes("live") ? "live" : "test",
    status,
    before,
    limit,
    maxRead,
  };
  const isSearched = isSearch(filters) || ancestorId !== null;
  const kind = statements(isAll, status, isSearched);
  if (!isSearched) return db.batch(kind, query, tenantId);
  return db.batch(kind, { ...query, ancestorId, ...searchInputs("key", filters, before) }, tenantId);
};

/**
 * The tenant's newest keys in `environments` that `page` asks for. One statement, shared by requests for the same page.
 * With a status, a name or an ancestor, a page can have fewer keys than `limit`, or no keys, and still have a next
 * page.
 */
export const listApiKeys = async (
  db: Db,
  tenantId: TenantId,
  environments: readonly Environment[],
  page: KeyPageRequest,
): Promise<WrittenPage> =>
  (await send(db, tenantId, environments, page, MAX_ROWS_READ, STATEMENTS.page)) ?? { items: "", next: null };

/**
 * How many of the tenant's keys in `environments` match, at most `MAX_COUNTED`. With a status, only the newest
 * `MAX_COUNTED` keys are examined. One statement.
 */
export const countApiKeys = async (
  db: Db,
  tenantId: TenantId,
  environments: readonly Environment[],
  filters: KeyPageRequest["filters"],
): Promise<Total> => {
  const page = { filters, before: null, limit: MAX_COUNTED };
  return (await send(db, tenantId, environments, page, MAX_COUNTED, STATEMENTS.count)) ?? NONE;
};
