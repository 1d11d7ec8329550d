/** How the server executes what a test does: the plans that auto_explain logs, those inside functions included. */
import { session, type TestDb } from "../database.ts";
import { fixture } from "../fixture.ts";

/** Logs the generic plan of each statement: the one that the server comes to use, whatever the values. */
const EXPLAIN = `
  load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
  set plan_cache_mode = force_generic_plan; set client_min_messages = log`;

/** One connection for this file, and the plans of what it executes after `explain`, each with the text of its statement. */
export const explainedSession = async (
  url: string,
): Promise<{ db: TestDb; plans: string[]; explain(): Promise<unknown> }> => {
  const plans: string[] = [];
  const onnotice = ({ message = "" }: { message?: string }): void => {
    const [, text = "", plan] = /plan:\nQuery Text: (.*?)\n(\w[^\n]*\(cost=.*)/s.exec(message) ?? [];
    // The checks of foreign keys are the server's own statements.
    if (plan && !text.includes("FROM ONLY")) plans.push(`${text}\n${plan}`);
  };
  const db = await fixture(session(url, { onnotice }));
  return { db, plans, explain: () => db.client.unsafe(EXPLAIN) };
};

/** The id of row `i` of `generate_series`: in the order of the rows, as the application makes them. */
export const rowId = (prefix: string): string => `'${prefix}_01h455vb4p' || lpad(i::text, 16, '0')`;

/** Inserts `rows` keys of the tenant, each with a credential, and as many other tenants. */
export const insertKeyRows = (tenantId: string, rows: number): string => `
  insert into tenants (tenant_id, name, created_at) select ${rowId("ten")}, 'n', now() from generate_series(1, ${rows}) i;
  insert into api_keys (tenant_id, id, key_id, environment, name, scopes, lineage, version, created_at)
    select '${tenantId}', ${rowId("key")}, lpad(i::text, 16, '0'), 'live', 'n', '{*}', '{}', 1, now() from generate_series(1, ${rows}) i;
  insert into api_key_credentials (key_id, tenant_id, api_key_id, digest, is_unused, created_at)
    select lpad(i::text, 16, '0'), '${tenantId}', ${rowId("key")}, sha256('x'), false, now() from generate_series(1, ${rows}) i;`;
