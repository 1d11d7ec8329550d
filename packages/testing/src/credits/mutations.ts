/**
 * Faults that the tests of credits must find, each a change of the text of the database functions. `MUTATION` names a
 * fault, including those of calls and people. The tests then run on functions with this fault.
 */
import { CREATE_FUNCTIONS, FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { RESUME_MUTATIONS, TRANSCRIPT_MUTATIONS, TURN_MUTATIONS } from "../calls/conversation-mutations.ts";
import { GROWTH_MUTATIONS } from "../calls/growth-mutations.ts";
import { CALL_MUTATIONS } from "../calls/mutations.ts";
import type { TestDb } from "../database.ts";
import { PEOPLE_MUTATIONS } from "../people/mutations.ts";
import { DELIVERY_MUTATIONS } from "../webhooks/delivery-mutations.ts";
import { EVENT_MUTATIONS } from "../webhooks/mutations.ts";

type Replacement = readonly [original: string, faulty: string];
/** A fault: one or several changes of the text. */
type Mutations = Readonly<Record<string, Replacement | readonly Replacement[]>>;

const CREDIT_MUTATIONS: Mutations = {
  "no lock on the meters": [
    ["for no key update of meter\n", "\n"],
    ["for no key update of meter;", ";"],
  ],
  "no lock on the account": ["for no key update of account", ""],
  "a report or a release that waits for no session": [
    "  if p_wait then\n    -- The statement below has a newer snapshot",
    "  if false then\n    -- The statement below has a newer snapshot",
  ],
  "no lock on the sessions of a batch": [
    "is_counted or session.ended_at is not null)\n    for no key update skip locked",
    "is_counted or session.ended_at is not null)",
  ],
  "a batch that waits for a locked session": [
    "is_counted or session.ended_at is not null)\n    for no key update skip locked",
    "is_counted or session.ended_at is not null)\n    for no key update",
  ],
  "a locked session that a batch does not find": [
    "then\n      v_outcomes[v_at].kind := 'stale'",
    "then\n      v_outcomes[v_at].kind := 'not_found'",
  ],
  "a session that is changed twice in one call": [
    "select distinct on (2, 3) ordinality as at",
    "select ordinality as at",
  ],
  "outcomes of a batch in another order": [
    "v_sessions[v_found_at[v_index]] := v_found[v_index]",
    "v_sessions[v_index] := v_found[v_index]",
  ],
  "a lone report that returns 'written' without a write": [
    "if (v_index = any (v_reported_at)) is not true then",
    "if v_index <> all (v_reported_at) then",
  ],
  "a batch that decides all changes by its first caller": [
    "when (p_valid_until[caller_at] > p_now)",
    "when (p_valid_until[1] > p_now)",
  ],
  "a batch that finds the sessions of other tenants": [
    "where session.tenant_id = change.tenant_id and session.id = change.session_id and session.environment",
    "where session.id = change.session_id and session.environment",
  ],
  "a batch that finds the sessions of the other environment": [
    " and session.environment = change.environment\n      and (change.is_engine",
    "\n      and (change.is_engine",
  ],
  "a batch that ends refused sessions": [
    "where name in ('end', 'end call') and v_outcomes[at].kind = 'written'",
    "where name in ('end', 'end call')",
  ],
  "a batch that reports ended sessions": [
    "and v_sessions[change.ordinality].ended_at is null and v_sessions[change.ordinality].expires_at > v_now",
    "",
  ],
  "a batch that stores no responses": ["if p_claims is not null then", "if false then"],
  "the account before the meters": [
    "  v_meters := rta.lock_meters(",
    "  perform from public.credit_accounts account where (tenant_id, environment) in (select * from unnest(v_counters.account_tenant_ids, v_counters.account_environments)) order by tenant_id, environment for no key update;\n  v_meters := rta.lock_meters(",
  ],
  "the account before the meters when sessions end": [
    "  select array_agg(tenant_id), array_agg(api_key_id) into v_tenant_ids, v_api_key_ids",
    "  perform from public.credit_accounts where (tenant_id, environment) in (select closing.tenant_id, closing.environment from unnest(p_closings) closing) order by tenant_id, environment for no key update;\n  select array_agg(tenant_id), array_agg(api_key_id) into v_tenant_ids, v_api_key_ids",
  ],
  "meters in no order": [
    [
      "      v_meters := '{}';\n",
      "      perform from public.api_key_meters where (tenant_id, api_key_id) in (select * from unnest(p_tenant_ids, p_api_key_ids)) order by random() for no key update;\n      v_meters := '{}';\n",
    ],
    ["order by meter.tenant_id, meter.api_key_id\n        for", "order by random()\n        for"],
    ["order by meter.tenant_id, meter.api_key_id\n  for", "order by random()\n  for"],
  ],
  "accounts in no order": [
    [
      "begin\n  if cardinality(p_tenant_ids) <= 4 then\n",
      "begin\n  if cardinality(p_tenant_ids) <= 4 then\n    perform from public.credit_accounts where (tenant_id, environment) in (select * from unnest(p_tenant_ids, p_environments)) order by random() for no key update;\n",
    ],
    ["order by account.tenant_id, account.environment\n      for", "order by random()\n      for"],
    ["order by account.tenant_id, account.environment\n  for", "order by random()\n  for"],
  ],
  "caps before the lock on the keys": [
    [
      "v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);\n  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at); -- for each request, its caller\n  v_counters",
      "v_callers_until timestamptz[];\n  v_valid_until timestamptz[] := array_fill('infinity'::timestamptz, array[cardinality(p_caller_at)]);\n  v_counters",
    ],
    [
      "\n  v_meters := rta.lock_meters(v",
      "\n  v_callers_until := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);\n  v_valid_until := array(select v_callers_until[at] from unnest(p_caller_at) at);\n  v_meters := rta.lock_meters(v",
    ],
  ],
  "the balance before the lock on the meters": [
    [
      "\n  v_meters := rta.lock_meters(v",
      "\n  v_accounts := array(select row(coalesce(granted - forfeited - settled - reserved, 0), open_sessions, max_concurrent_sessions, low_threshold)::rta.locked_account from unnest(v_counters.account_tenant_ids, v_counters.account_environments) with ordinality wanted (tenant_id, environment, at) left join public.credit_accounts account using (tenant_id, environment) order by at);\n  v_meters := rta.lock_meters(v",
    ],
    ["  v_accounts := rta.lock_accounts(", "  perform rta.lock_accounts("],
  ],
  "an absolute update of meters": [
    [
      "\n  v_meters := rta.lock_meters(v",
      "\n  perform set_config('fault.before', array(select coalesce(meter.reserved, 0) from unnest(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids) with ordinality wanted (tenant_id, id, at) left join public.api_key_meters meter on meter.tenant_id = wanted.tenant_id and meter.api_key_id = wanted.id order by at)::text, true);\n  v_meters := rta.lock_meters(v",
    ],
    [
      "set reserved = reserved + p_meters_held[v_at],",
      "set reserved = (current_setting('fault.before')::bigint[])[v_at] + p_meters_held[v_at],",
    ],
  ],
  "an absolute update of the account": [
    [
      "\n  v_meters := rta.lock_meters(v",
      "\n  perform set_config('fault.before', array(select coalesce(account.reserved, 0) from unnest(v_counters.account_tenant_ids, v_counters.account_environments) with ordinality wanted (tenant_id, environment, at) left join public.credit_accounts account using (tenant_id, environment) order by at)::text, true);\n  v_meters := rta.lock_meters(v",
    ],
    [
      "set reserved = reserved + p_accounts_held[v_at],",
      "set reserved = (current_setting('fault.before')::bigint[])[v_at] + p_accounts_held[v_at],",
    ],
  ],
  "a sweep that ignores the lease": [" where v_due[at].expires_at <= now() order by at", " order by at"],
  "a sweep that does not put off what is not overdue": ["if closed < visited then", "if false then"],
  "a release that trusts the caller's figure": [
    "when p_changes[at].is_engine then p_changes[at].used end",
    "else p_changes[at].used end",
  ],
  "a report of a batch that may lower the figure": [
    "least(session.reserved, greatest(session.used, change.used))",
    "least(session.reserved, change.used)",
  ],
  "a report of a batch above the hold": [
    "least(session.reserved, greatest(session.used, change.used))",
    "greatest(session.used, change.used)",
  ],
  "a release above the hold": [
    "then least(p_session.reserved, greatest(p_session.used, p_used))",
    "then greatest(p_session.used, p_used)",
  ],
  "a release below the report": [
    "then least(p_session.reserved, greatest(p_session.used, p_used))",
    "then least(p_session.reserved, coalesce(p_used, p_session.used))",
  ],
  "a release without usage:write ends a started session": [
    "when not p_changes[at].is_engine and started_at is not null",
    "when false and started_at is not null",
  ],
  "a mark that ignores the lease": [" and expires_at > clock_timestamp() then 'mark'", " then 'mark'"],
  "a second mark of a batch raises the version": [
    "v_outcomes[change.ordinality].kind = 'written' and not session.must_end",
    "v_outcomes[change.ordinality].kind = 'written'",
  ],
  "a session that may go on when its hold is used up": [" or session.used = session.reserved or", " or"],
  "a session that may go on after its release": ["session.must_end or session.used", "session.used"],
  "a session that may go on after the end of its key": [
    " or coalesce(session.api_key_id = any (p_ended_keys), false)",
    "",
  ],
  "one more open session than a key may have": [
    "meters_opened[v_meter] >= p_counters.session_limits",
    "meters_opened[v_meter] > p_counters.session_limits",
  ],
  "one more open session than a tenant may have": [
    "accounts_opened[v_account] >= p_accounts",
    "accounts_opened[v_account] > p_accounts",
  ],
  "open sessions of the same batch do not count for a key": [
    "p_meters[v_meter].open_sessions + meters_opened[v_meter] >=",
    "p_meters[v_meter].open_sessions >=",
  ],
  "open sessions of the same batch do not count for a tenant": [
    "p_accounts[v_account].open_sessions + accounts_opened[v_account] >=",
    "p_accounts[v_account].open_sessions >=",
  ],
  "a session that ends stays counted": [
    "open_sessions = open_sessions - v_change.sessions, version = version",
    "version = version",
  ],
  "a session that ends without its closer": ["closed_by = closing.closed_by,", "closed_by = null,"],
  "a report of a batch without its caller": [
    "reported_by = p_callers[p_caller_at[change.ordinality]].id,",
    "reported_by = null,",
  ],
  "a release that frees nothing": [
    "update public.api_key_meters\n    set reserved = reserved - v_change.reserved",
    "update public.api_key_meters\n    set reserved = reserved - v_change.charged",
  ],
  "test use counts against live caps": ["and key.environment = own.environment", ""],
  "only the key's own cap": ["id = any (p_callers[v_at].lineage || p_callers[v_at].id)", "id = p_callers[v_at].id"],
  "a refused request takes its credits": [
    "v_outcome.kind := 'insufficient_credits';",
    "v_outcome.kind := 'insufficient_credits';\n      accounts_held[v_account] := accounts_held[v_account] + 1;",
  ],
  "validity before the last lock": [
    "when (p_valid_until[v_at] > p_now and v_caller.environment",
    "when (p_valid_until[v_at] is not null and v_caller.environment",
  ],
  "claims without a look at those that exist": [
    "and now() - claim.created_at < interval '24 hours';\n    end if;",
    "and false;\n    end if;",
  ],
  "avatars of the other environment": [" and avatars.environment = v_request.environment;", ";"],
};

/** All faults, of each subject. */
export const MUTATIONS: Mutations = {
  ...CREDIT_MUTATIONS,
  ...CALL_MUTATIONS,
  ...GROWTH_MUTATIONS,
  ...RESUME_MUTATIONS,
  ...TRANSCRIPT_MUTATIONS,
  ...TURN_MUTATIONS,
  ...PEOPLE_MUTATIONS,
  ...EVENT_MUTATIONS,
  ...DELIVERY_MUTATIONS,
};

/** The text that creates the functions with this fault. Throws when the fault does not fit their present text. */
export const faultyFunctions = (name: string): string => {
  let text = CREATE_FUNCTIONS;
  const mutation = MUTATIONS[name] ?? [];
  for (const replacement of typeof mutation[0] === "string" ? [mutation as Replacement] : mutation) {
    const [from, to] = (replacement as Replacement).map((one) => one.replaceAll("rta.", `${FUNCTIONS_SCHEMA}.`)) as [
      string,
      string,
    ];
    if (!text.includes(from)) throw new Error(`${name}: the functions do not contain ${from}`);
    text = text.replaceAll(from, to);
  }
  if (text === CREATE_FUNCTIONS) throw new Error(`${name} changes nothing`);
  return text;
};

/** Gives the functions of a database the fault that `MUTATION` names. */
export const mutate = async ({ client }: TestDb): Promise<void> => {
  const name = process.env["MUTATION"];
  if (name === undefined) return;
  const text = faultyFunctions(name);
  await client.begin(async (transaction) => {
    await transaction.unsafe(`drop schema ${FUNCTIONS_SCHEMA} cascade`);
    await transaction.unsafe(text);
    // Grants are needed, because a test may use a role with the rights of the service.
    await transaction.unsafe(
      `grant usage on schema ${FUNCTIONS_SCHEMA} to public; grant execute on all functions in schema ${FUNCTIONS_SCHEMA} to public`,
    );
  });
};
