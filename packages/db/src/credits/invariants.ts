/**
 * The invariants of credits as a query: the counters, the sessions and the entries of a tenant must agree
 * (docs/credits.md). Each violation is a row. A correct tenant has no row.
 *
 * Two invariants are not checked here: a key is within its cap at each admission (caps change, so the tables do not
 * show it), and one session for one Idempotency-Key (a primary key guarantees it).
 */
import { CREDIT_MOVES, ENTRY_KINDS, OPERATOR_ACTIONS } from "@realtime-avatar/domain/credits/entry";
import type { TenantId } from "@realtime-avatar/domain/id";
import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../connection/pool.ts";
import { statement } from "../query/statement.ts";
import { apiKeys } from "../schema/api-keys.ts";
import { auditEvents } from "../schema/audit.ts";
import { avatarSlots, callAgents, calls } from "../schema/calls.ts";
import { apiKeyMeters, creditAccounts, creditEntries, usageSessions } from "../schema/credits.ts";
import { tenants } from "../schema/tenants.ts";

/**
 * A violation. `invariant`:
 * - `account_replay`: a counter of the account, and the replay of its entries
 * - `account_available`: granted less forfeited, settled and reserved is not below 0
 * - `account_sessions`: the hold of the account, and its open sessions; also the number of counted ones
 * - `meter_replay`: a counter of a key, and the replay of the entries of its subtree
 * - `meter_sessions`: the hold of a key, and the open sessions of its subtree; also the number of counted ones
 * - `session_entries`: a session has a hold, and one more for each step by which it has grown; when it is closed, one settle and one
 *   release or expire, which add up to its holds; when it is open, none. It uses and refunds no more than it holds and used
 * - `session_lineage`: the keys that the session is charged to
 * - `session_count`: a session that has ended is not counted as open
 * - `session_closer`: the last reporter and the closer of a session are the same in the session and in its entries, and
 *   are keys of the tenant or the sweep
 * - `call_slot`: an open call has one slot of an avatar worker; no slot has anything else
 * - `call_room`: the room of an open call must exist or is not ours; the room of an ended call must not exist
 * - `call_agent`: an ended call has no agent, and so no token of an agent
 * - `entry_audit`: a grant, a void or a refund has its audit event, except the first grant of a tenant
 */
export type CreditDrift = {
  invariant: string;
  environment: string | null;
  /** The session or the key; for an account, the environment. */
  subject: string | null;
  counter: string | null;
  /** The value that follows from the entries, the sessions or the keys: credit micros, a count, or a list of ids. */
  expected: string | null;
  /** The stored value. */
  actual: string | null;
};

type Place = (typeof CREDIT_MOVES)[(typeof ENTRY_KINDS)[number]]["from" | "to"];
/** The sum of the movements of the kinds for which `test` is true. */
const sumOf = (test: (move: { from: Place; to: Place }) => boolean): SQL => {
  const kinds = ENTRY_KINDS.filter((kind) => test(CREDIT_MOVES[kind])).map((kind) => sql.raw(`'${kind}'`));
  return kinds.length === 0
    ? sql`0`
    : sql`coalesce(sum(amount) filter (where kind in (${sql.join(kinds, sql`, `)})), 0)`;
};
/** The amount at a place after all movements. */
const balanceOf = (place: Place): SQL =>
  sql`${sumOf(({ to }) => to === place)} - ${sumOf(({ from }) => from === place)}`;

const TENANT = sql.placeholder("tenantId");
const ACTIONS = Object.entries(OPERATOR_ACTIONS);
const OPERATOR_KINDS = sql.raw(ACTIONS.map(([kind]) => `'${kind}'`).join(", "));
const ACTION_OF_KIND = sql.raw(ACTIONS.map(([kind, action]) => `when '${kind}' then '${action}'`).join(" "));

/**
 * One statement with one snapshot, because a session could be opened between two statements. It reads entries twice (by
 * key and kind, by session). The server holds only sums.
 */
const select = statement<CreditDrift>(
  "find_credit_drift",
  sql`
    with accounts as (
      select environment, granted, forfeited, settled, reserved, open_sessions, granted - forfeited - settled - reserved as available
      from ${creditAccounts} where tenant_id = ${TENANT}
    ), movements as materialized (
      select environment, api_key_id, kind, sum(amount) as amount
      from ${creditEntries} where tenant_id = ${TENANT} group by 1, 2, 3
    ), holds as materialized (
      select environment, api_key_id, sum(reserved) as reserved, count(*) filter (where is_counted) as counted
      from ${usageSessions} where tenant_id = ${TENANT} and ended_at is null group by 1, 2
    ), charged_keys as materialized (
      select own.id as api_key_id, charged.id as charged_id, charged.environment
      from ${apiKeys} own
      join ${apiKeys} charged on charged.tenant_id = own.tenant_id and charged.environment = own.environment
        and charged.id = any (own.lineage || own.id)
      where own.tenant_id = ${TENANT} and own.id in (
        select api_key_id from movements union select api_key_id from ${usageSessions} where tenant_id = ${TENANT}
      )
    ), lineages as (
      select api_key_id, array_agg(charged_id order by charged_id) as lineage from charged_keys group by 1
    ), replayed_accounts as (
      select environment, ${sumOf(({ from }) => from === "issued")} as granted, ${balanceOf("forfeited")} as forfeited,
        ${balanceOf("spent")} as settled, ${balanceOf("held")} as reserved
      from movements group by 1
    ), held_accounts as (
      select environment, sum(reserved) as reserved, sum(counted) as counted from holds group by 1
    ), meters as (
      select api_key_id, settled, reserved, open_sessions from ${apiKeyMeters} where tenant_id = ${TENANT}
    ), replayed_meters as (
      select charged_id as api_key_id, ${balanceOf("spent")} as settled, ${balanceOf("held")} as reserved
      from movements join charged_keys using (api_key_id, environment) group by 1
    ), held_meters as (
      select charged_id as api_key_id, sum(reserved) as reserved, sum(counted) as counted
      from holds join charged_keys using (api_key_id, environment) group by 1
    ), sessions as (
      select id as session_id, environment, api_key_id, lineage, reserved, used, is_counted, reported_by, closed_by,
        case when ended_at is null then 0 else 1 end as closed
      from ${usageSessions} where tenant_id = ${TENANT}
    ), session_entries as (
      select session_id,
        count(*) filter (where kind = 'hold') as holds, ${sumOf(({ from, to }) => from === "available" && to === "held")} as held,
        count(*) filter (where kind = 'settle') as settles, ${sumOf(({ from, to }) => from === "held" && to === "spent")} as settled,
        count(*) filter (where kind in ('release', 'expire')) as rests,
        ${sumOf(({ from, to }) => from === "held" && to === "available")} as rest,
        ${sumOf(({ from }) => from === "spent")} as refunded
      from ${creditEntries} where tenant_id = ${TENANT} and session_id is not null group by 1
    ), tenant_calls as (
      select session_id, room, coalesce(closed, 1) as closed
      from ${calls} left join sessions using (session_id) where tenant_id = ${TENANT}
    ), slots as (
      select session_id, count(*) as slots from ${avatarSlots} where tenant_id = ${TENANT} group by 1
    ), findings as (
      select 'account_replay' as invariant, environment, environment as subject, counter.name as counter,
        expected::text as expected, actual::text as actual
      from accounts account full join replayed_accounts replayed using (environment)
      cross join lateral (values
        ('granted', coalesce(replayed.granted, 0), coalesce(account.granted, 0)),
        ('forfeited', coalesce(replayed.forfeited, 0), coalesce(account.forfeited, 0)),
        ('settled', coalesce(replayed.settled, 0), coalesce(account.settled, 0)),
        ('reserved', coalesce(replayed.reserved, 0), coalesce(account.reserved, 0))
      ) counter (name, expected, actual)
      where expected <> actual
      union all
      select 'account_available', environment, environment, 'available', '0', available::text
      from accounts where available < 0
      union all
      select 'account_sessions', environment, environment, counter.name, expected::text, actual::text
      from accounts account full join held_accounts held using (environment)
      cross join lateral (values
        ('reserved', coalesce(held.reserved, 0), coalesce(account.reserved, 0)),
        ('openSessions', coalesce(held.counted, 0), coalesce(account.open_sessions, 0))
      ) counter (name, expected, actual)
      where expected <> actual
      union all
      select 'meter_replay', null, api_key_id, counter.name, expected::text, actual::text
      from meters meter full join replayed_meters replayed using (api_key_id)
      cross join lateral (values
        ('settled', coalesce(replayed.settled, 0), coalesce(meter.settled, 0)),
        ('reserved', coalesce(replayed.reserved, 0), coalesce(meter.reserved, 0))
      ) counter (name, expected, actual)
      where expected <> actual
      union all
      select 'meter_sessions', null, api_key_id, counter.name, expected::text, actual::text
      from meters meter full join held_meters held using (api_key_id)
      cross join lateral (values
        ('reserved', coalesce(held.reserved, 0), coalesce(meter.reserved, 0)),
        ('openSessions', coalesce(held.counted, 0), coalesce(meter.open_sessions, 0))
      ) counter (name, expected, actual)
      where expected <> actual
      union all
      select 'session_entries', session.environment, session_id, counter.name, expected::text, actual::text
      from sessions session full join session_entries entry using (session_id)
      cross join lateral (values
        -- A hold that has grown has an entry for each step.
        ('holds', case when session.closed is null then 0 else greatest(1, coalesce(entry.holds, 0)) end, coalesce(entry.holds, 0)),
        ('held', coalesce(session.reserved, 0), coalesce(entry.held, 0)),
        ('settles', coalesce(session.closed, 0), coalesce(entry.settles, 0)),
        ('settled', coalesce(session.closed * session.used, 0), coalesce(entry.settled, 0)),
        ('rests', coalesce(session.closed, 0), coalesce(entry.rests, 0)),
        ('rest', coalesce(session.closed * (session.reserved - session.used), 0), coalesce(entry.rest, 0)),
        ('used', least(session.used, session.reserved), session.used),
        ('refunded', least(entry.refunded, coalesce(session.closed * session.used, 0)), entry.refunded)
      ) counter (name, expected, actual)
      where expected <> actual
      union all
      select 'session_lineage', session.environment, session_id, 'lineage', array_to_string(expected.lineage, ','),
        array_to_string(session.lineage, ',')
      from sessions session left join lineages expected using (api_key_id)
      where session.lineage is distinct from expected.lineage
      union all
      select 'session_count', environment, session_id, 'openSessions', '0', '1'
      from sessions where closed = 1 and is_counted
      union all
      select 'session_closer', session.environment, session.session_id, closer.name, expected, actual
      from sessions session
      join ${creditEntries} entry on entry.tenant_id = ${TENANT} and entry.session_id = session.session_id
        and entry.kind in ('settle', 'release', 'expire')
      cross join lateral (values
        ('closedBy', session.closed_by, entry.closed_by), ('reportedBy', session.reported_by, entry.reported_by)
      ) closer (name, expected, actual)
      -- The version before these columns closes sessions during an upgrade, and leaves both empty.
      where coalesce(session.closed_by, entry.closed_by) is not null and expected is distinct from actual
      union all
      select 'session_closer', environment, session_id, closer.name, 'a key of the tenant', closer.id
      from sessions cross join lateral (values ('closedBy', closed_by), ('reportedBy', reported_by)) closer (name, id)
      where closer.id <> 'sweep' and not exists (
        select from ${apiKeys} key where key.tenant_id = ${TENANT} and key.id = closer.id
      )
      union all
      select 'call_slot', null, session_id, 'slots', expected::text, actual::text
      from tenant_calls full join slots using (session_id)
      cross join lateral (values (1 - coalesce(closed, 1), coalesce(slots, 0))) slot (expected, actual)
      where expected <> actual
      union all
      select 'call_room', null, session_id, 'room', case when closed = 1 then 'delete or gone' else 'create, exists or foreign' end, room
      from tenant_calls where (closed = 1) <> (room in ('delete', 'gone'))
      union all
      select 'call_agent', null, agent.session_id, 'agent', 'none', 'one'
      from ${callAgents} agent left join tenant_calls using (session_id)
      where agent.tenant_id = ${TENANT} and coalesce(closed, 1) = 1
      union all
      select 'entry_audit', entry.environment, entry.id, entry.kind, 'an audit event', 'none'
      from ${creditEntries} entry
      where entry.tenant_id = ${TENANT} and entry.kind in (${OPERATOR_KINDS})
        and not (entry.kind = 'grant' and entry.reference is not distinct from 'initial')
        and not exists (
          select from ${auditEvents} event
          where event.target_id = entry.id and event.tenant_id = entry.tenant_id
            and event.environment = entry.environment and event.action = case entry.kind ${ACTION_OF_KIND} end
        )
    )
    select invariant as "invariant", environment as "environment", subject as "subject", counter as "counter",
      expected as "expected", actual as "actual"
    from findings limit ${sql.placeholder("limit")}::integer`,
);

/** The time limit of the statement for one tenant. It reads all entries and sessions of the tenant twice. */
const VERIFY_MS = 600_000;

/** The violations in the credits of a tenant, in both environments, at most `limit`. One statement. */
export const findCreditDrift = (db: Db, tenantId: TenantId, limit: number): Promise<CreditDrift[]> =>
  select(db.within(VERIFY_MS), { tenantId, limit });

const selectTenants = statement<{ tenantId: TenantId }>(
  "list_tenant_ids",
  sql`
    select ${tenants.tenantId} as "tenantId" from ${tenants}
    where ${tenants.tenantId} > ${sql.placeholder("after")}
    order by ${tenants.tenantId} limit ${sql.placeholder("limit")}::integer`,
);

/** The ids of up to `limit` tenants after this one, oldest first. One statement. */
export const listTenantIds = async (db: Db, after: TenantId | null, limit: number): Promise<TenantId[]> =>
  (await selectTenants(db, { after: after ?? "", limit })).map(({ tenantId }) => tenantId);

const selectAboveCap = statement<{ apiKeyId: string; spendLimit: string; charged: string }>(
  "list_keys_above_cap",
  sql`
    select key.id as "apiKeyId", key.spend_limit_credit_micros as "spendLimit",
      meter.settled + meter.reserved as "charged"
    from ${apiKeys} key join ${apiKeyMeters} meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
    where key.tenant_id = ${TENANT} and meter.settled + meter.reserved > key.spend_limit_credit_micros`,
);

/**
 * The keys of a tenant whose spent and held credit micros exceed their cap. This happens only after a cap was lowered,
 * or by a defect. One statement.
 */
export const listKeysAboveCap = (db: Db, tenantId: TenantId) => selectAboveCap(db, { tenantId });
