/** The plans of the statements of a test, as auto_explain logs them, including those inside functions. */
import { expect } from "bun:test";
import { IS_ONE_DATABASE, session, type TestDb } from "../database.ts";
import { fixture } from "../fixture.ts";

/**
 * Logs the generic plan of each statement, which the server uses in the end, whatever the values. On the node of a
 * shard the server chooses the plan, and Citus does not explain a distributed statement again.
 */
const EXPLAIN = `
  load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
  set ${IS_ONE_DATABASE ? "plan_cache_mode = force_generic_plan" : "citus.explain_distributed_queries = off"};
  set client_min_messages = log`;

/** Statements that Citus distributes. Their tasks on the node have separate plans. */
const DISTRIBUTED = ["Custom Scan (Citus Adaptive)", "Custom Scan (Citus INSERT ... SELECT)"];
/** The text of a task whose statement Citus has not written. */
const TASK = "<optimized out by local execution>";
/** The number that Citus appends to the name of a table or an index on a node. */
const NUMBER_OF_CITUS = /_1\d{5}\b/;
const NUMBERS_OF_CITUS = new RegExp(NUMBER_OF_CITUS, "g");

/**
 * One connection for this file, and its plans after `explain`, each with the text of its statement. With TEST_SHARD the plans of the node are
 * there too, with the names of one database.
 */
export const explainedSession = async (
  url: string,
): Promise<{ db: TestDb; plans: string[]; explain(): Promise<unknown> }> => {
  const plans: string[] = [];
  const onnotice = ({ message = "" }: { message?: string }): void => {
    const [, text = "", plan] = /plan:\nQuery Text: (.*?)\n(\w[^\n]*\(cost=.*)/s.exec(message) ?? [];
    // The checks of foreign keys are the server's own statements.
    if (!plan || text.includes("FROM ONLY")) return;
    const isTask = text === TASK || NUMBER_OF_CITUS.test(text) || NUMBER_OF_CITUS.test(plan);
    plans.push(`${isTask ? TASK : text}\n${plan.replaceAll(NUMBERS_OF_CITUS, "")}`);
  };
  const own = new URL(url);
  // The setting of the service's connections to a shard.
  if (!IS_ONE_DATABASE) own.searchParams.set("enable_seqscan", "off");
  const db = await fixture(session(own.href, { onnotice }));
  return { db, plans, explain: () => db.client.unsafe(EXPLAIN) };
};

/** The id of row `i` of `generate_series`. Ids are in the order of the rows, like those of the application. */
export const rowId = (prefix: string): string => `'${prefix}_01h455vb4p' || lpad(i::text, 16, '0')`;

/** Inserts `rows` keys of the tenant, each with a credential, and as many other tenants. */
export const insertKeyRows = (tenantId: string, rows: number): string => `
  insert into tenants (tenant_id, name, created_at) select ${rowId("ten")}, 'n', now() from generate_series(1, ${rows}) i;
  insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
    select '${tenantId}', ${rowId("key")}, lpad(i::text, 16, '0'), 'live', 'n', '{*}', '{}', 1, now() from generate_series(1, ${rows}) i;
  insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, is_unused, created_at)
    select lpad(i::text, 16, '0'), '${tenantId}', ${rowId("key")}, sha256('x'), false, now() from generate_series(1, ${rows}) i;`;

/** Inserts `rows` users, passkeys and assets of the tenant, in which lists look up names. */
export const insertNamedRows = (tenantId: string, rows: number): string => `
  insert into users select '${tenantId}', ${rowId("usr")}, i || '@example.com', 'n', 'owner', 1, now() from generate_series(1, ${rows}) i;
  insert into passkeys select '${tenantId}', ${rowId("psk")}, ${rowId("usr")}, sha256(i::text::bytea), 'x', 0, '{}', true, 'n', 1, now(), null
    from generate_series(1, ${rows}) i;
  insert into assets (tenant_id, id, environment, kind, status, public_token, reserved_bytes, metadata, version, created_at, updated_at)
    select '${tenantId}', ${rowId("ast")}, 'live', 'image', 'deleted', lpad(i::text, 43, '0'), 0, '{}', 1, now(), now()
    from generate_series(1, ${rows}) i;`;

/** Inserts `rows` recorded calls of the tenant, with four fragments and a recording of each, and unneeded files. */
export const insertRecordingRows = (tenantId: string, rows: number): string => `
  insert into call_recordings (tenant_id, session_id, mode, created_at, due_at)
    select '${tenantId}', ${rowId("ses")}, 'audio', now(), now() + interval '1 hour' from generate_series(1, ${rows}) i;
  insert into recording_fragments
    select '${tenantId}', ${rowId("ses")}, 1, n, 'worker ' || i, 1 from generate_series(1, ${rows}) i, generate_series(0, 3) n;
  insert into recordings (tenant_id, id, environment, session_id, mode, status, created_at, retained_until)
    select '${tenantId}', ${rowId("rec")}, 'live', ${rowId("ses")}, 'audio', 'recording', now(), now() + interval '30 days'
    from generate_series(1, ${rows}) i;
  insert into unneeded_files (tenant_id, key, created_at) select '${tenantId}', 'recordings/' || i, now() from generate_series(1, ${rows}) i;`;

/** Inserts an endpoint of each of `rows` other tenants, an event of each, and its delivery. */
export const insertEndpointRows = (rows: number): string => `
  insert into webhook_endpoints (tenant_id, id, environment, status, secret, version, created_at, updated_at)
    select ${rowId("ten")}, ${rowId("whe")}, 'live', 'enabled', 'x', 1, now(), now() from generate_series(1, ${rows}) i;
  insert into webhook_events (tenant_id, id, environment, type, target_id, sequence, created_at)
    select ${rowId("ten")}, ${rowId("evt")}, 'live', 'avatar.created', ${rowId("ava")}, 1, now() from generate_series(1, ${rows}) i;
  insert into webhook_deliveries (
    tenant_id, id, environment, endpoint_id, event_id, event_type, target_id, sequence, status, created_at
  )
    select ${rowId("ten")}, ${rowId("whd")}, 'live', ${rowId("whe")}, ${rowId("evt")}, 'avatar.created', ${rowId("ava")}, 1, 'delivered',
      now() from generate_series(1, ${rows}) i;`;

/** Inserts `rows` of each queue of apps/worker, and of recoveries of endpoints. All are due in an hour. */
export const insertQueueRows = (tenantId: string, rows: number): string => `
  ${insertKeyRows(tenantId, rows)}
  ${insertEndpointRows(rows)}
  ${insertRecordingRows(tenantId, rows)}
  update webhook_endpoints set recovery_next_at = now() + interval '1 hour', recovery_next_id = id, recovery_last_id = id;
  update webhook_deliveries set status = 'pending', next_attempt_at = now() + interval '1 hour';
  insert into jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
    select '${tenantId}', ${rowId("job")}, 'live', 'process_asset', ${rowId("ast")}, 1, now() + interval '1 hour', now()
    from generate_series(1, ${rows}) i;
  insert into call_transcripts (tenant_id, session_id, receiver, due_at)
    select '${tenantId}', ${rowId("ses")}, 'x', case when i % 2 = 0 then now() + interval '1 hour' end
    from generate_series(1, ${rows}) i;`;

/**
 * The plans of `work`, in one text: with the settings of the service's connections, and with tables that were never
 * analyzed.
 */
export const plansWithoutStatistics = async (
  { db, plans }: { db: TestDb; plans: string[] },
  table: string,
  work: () => Promise<unknown>,
): Promise<string> => {
  await db.client.unsafe(`
    delete from pg_statistic where starelid = '${table}'::regclass;
    update pg_class set relpages = 0, reltuples = -1
      where oid = '${table}'::regclass or oid in (select indexrelid from pg_index where indrelid = '${table}'::regclass);
    set enable_seqscan = off; discard plans`);
  plans.length = 0;
  await work();
  await db.client.unsafe("reset enable_seqscan");
  expect(plans.length).toBeGreaterThan(0);
  return plans.join("\n\n");
};

/** Indexes that do not begin with the tenant: they find a credential, a public file, and the work of all tenants. */
const OF_ALL_TENANTS = [
  "api_key_credentials_pkey",
  "api_key_credentials_retired_at_index",
  "assets_public_token_index",
  "avatars_preview_token_index",
  "assets_pending_upload_index",
  "assets_generated_index",
  "jobs_available_index",
  "job_slots_started_at_index",
  "avatar_slots_session_index",
  "videos_waiting_index",
  "call_recordings_due_index",
  "call_recordings_session_index",
  "calls_session_index",
  "recordings_kept_index",
  "recordings_expired_index",
  "unneeded_files_age_index",
  "unneeded_files_due_index",
  "webhook_deliveries_due_index",
  "webhook_turns_claimed_at_index",
  "webhook_endpoints_recovery_index",
];

/** A scan of an index by only the tenant, with a filter on other columns. It reads all rows of the tenant. */
const WHOLE_TENANT =
  /using (\w+) on (\w+)[^\n]*\n +Index Cond: \(tenant_id = (?:[^()\n]|\([^()\n]*\))*\)\n +Filter: .*/g;
/** Tables and indexes with few rows of each tenant. */
const OF_FEW_ROWS = [
  "asset_meters",
  "call_agents", // of open calls
  "credit_accounts",
  "invitations", // of pending recordings
  "users_owners_index",
  "webhook_endpoints",
  "webhook_hosts",
  // Indexes of running work. A node of a shard plans with the values.
  ...(IS_ONE_DATABASE ? [] : ["pending_changes"]),
];

/**
 * Fails unless the plans read by indexes: each by the tenant, and the index of claims by its whole key. Fails for a
 * plan that reads all rows of a tenant in a table where a tenant can have many. On a shard, it fails for a distributed
 * statement of several tasks. Returns the plans in one text.
 */
export const expectIndexed = (plans: readonly string[]): string => {
  const count = (isCounted: (plan: string) => boolean): number => plans.filter(isCounted).length;
  const tasks = count((plan) => plan.startsWith(TASK));
  expect(tasks).toBeLessThanOrEqual(count((plan) => DISTRIBUTED.some((one) => plan.includes(one))));
  if (!IS_ONE_DATABASE) expect(tasks).toBeGreaterThan(0);
  expect(plans.filter((plan) => plan.includes("Seq Scan"))).toEqual([]);
  const all = plans.join("\n\n");
  const wholes = [...all.matchAll(WHOLE_TENANT)].filter(
    ([, index = "", table = ""]) => !(OF_FEW_ROWS.includes(index) || OF_FEW_ROWS.includes(table)),
  );
  expect(wholes.map(([found]) => found)).toEqual([]);
  for (const [, index = "", condition] of all.matchAll(/using (\w+) on .*\n +Index Cond: (.*)/g)) {
    if (OF_ALL_TENANTS.includes(index) || index.startsWith("pg_")) continue;
    expect([index, condition]).toEqual([index, expect.stringContaining("tenant_id")]);
    if (index.startsWith("idempotency_keys")) expect(condition).toContain("idempotency_key = ");
    // A look-up reads the pending changes of several subjects. A slow change later withdraws the pending change of one
    // subject.
    if (index.startsWith("api_key_pending_changes") && IS_ONE_DATABASE) {
      expect(condition).toMatch(/api_key_id = (ANY|\$2\)\)$)/);
    }
  }
  return all;
};
