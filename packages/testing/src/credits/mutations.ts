/**
 * Faults that the tests of credits must find, each a change of the text of the database functions. `MUTATION` names one, or one
 * of calls or people: then the tests run on functions with this fault.
 */
import { CREATE_FUNCTIONS, FUNCTIONS_SCHEMA } from "@realtime-avatar/db/functions/schema";
import { CALL_MUTATIONS } from "../calls/mutations.ts";
import type { TestDb } from "../database.ts";
import { PEOPLE_MUTATIONS } from "../people/mutations.ts";
import { DELIVERY_MUTATIONS } from "../webhooks/delivery-mutations.ts";
import { EVENT_MUTATIONS } from "../webhooks/mutations.ts";

type Replacement = readonly [original: string, faulty: string];
/** Each is one change of the text, or several. */
type Mutations = Readonly<Record<string, Replacement | readonly Replacement[]>>;

export const CREDIT_MUTATIONS: Mutations = {
  "no lock on the meters": ["for no key update of meter\n", "\n"],
  "no lock on the account": ["for no key update of account", ""],
  "no lock on the session of a release": [
    "and (p_is_engine or p_caller.id = any (lineage))\n  for no key update;",
    "and (p_is_engine or p_caller.id = any (lineage));",
  ],
  "no lock on the session of a report": [
    "and environment = p_environment and id = p_session_id\n  for no key update;\n  v_now := date_trunc",
    "and environment = p_environment and id = p_session_id;\n  v_now := date_trunc",
  ],
  "the account before the meters": [
    "  v_meters := rta.lock_meters(",
    "  v_accounts := rta.lock_accounts(v_counters.account_tenant_ids, v_counters.account_environments);\n  v_meters := rta.lock_meters(",
  ],
  "the account before the meters when sessions end": [
    "  perform rta.lock_meters(array_agg(tenant_id), array_agg(api_key_id))",
    "  perform rta.lock_accounts(array_agg(tenant_id), array_agg(environment))\n  from (select distinct tenant_id, environment from unnest(p_closings) order by 1, 2) account;\n  perform rta.lock_meters(array_agg(tenant_id), array_agg(api_key_id))",
  ],
  "meters in no order": [
    "order by meter.tenant_id, meter.api_key_id\n      for no key update of meter",
    "order by random()\n      for no key update of meter",
  ],
  "accounts in no order": [
    "order by account.tenant_id, account.environment\n      for",
    "order by random()\n      for",
  ],
  "caps before the lock on the keys": [
    [
      "v_valid_until timestamptz[] := rta.lock_callers(p_callers, p_caller_at, p_wait); -- for each request, its caller\n  v_counters",
      "v_valid_until timestamptz[] := array_fill('infinity'::timestamptz, array[cardinality(p_caller_at)]);\n  v_counters",
    ],
    [
      "  v_meters := rta.lock_meters(v",
      "  v_valid_until := rta.lock_callers(p_callers, p_caller_at, p_wait);\n  v_meters := rta.lock_meters(v",
    ],
  ],
  "the balance before the lock on the meters": [
    [
      "  v_meters := rta.lock_meters(v",
      "  v_accounts := array(select row(coalesce(granted - forfeited - settled - reserved, 0), open_sessions, max_concurrent_sessions)::rta.locked_account from unnest(v_counters.account_tenant_ids, v_counters.account_environments) with ordinality wanted (tenant_id, environment, at) left join public.credit_accounts account using (tenant_id, environment) order by at);\n  v_meters := rta.lock_meters(v",
    ],
    ["  v_accounts := rta.lock_accounts(v_counters", "  perform rta.lock_accounts(v_counters"],
  ],
  "an absolute update of meters": [
    ["  v_admitted record;\nbegin\n", "  v_admitted record;\n  v_before bigint[];\nbegin\n"],
    [
      "  v_meters := rta.lock_meters(v",
      "  v_before := array(select coalesce(meter.reserved, 0) from unnest(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids) with ordinality wanted (tenant_id, id, at) left join public.api_key_meters meter on meter.tenant_id = wanted.tenant_id and meter.api_key_id = wanted.id order by at);\n  v_meters := rta.lock_meters(v",
    ],
    ["set reserved = meter.reserved + held.amount, open", "set reserved = held.before + held.amount, open"],
    [
      "v_admitted.meters_held, v_admitted.meters_opened\n  ) held (tenant_id, api_key_id, amount, sessions)",
      "v_admitted.meters_held, v_admitted.meters_opened, v_before\n  ) held (tenant_id, api_key_id, amount, sessions, before)",
    ],
  ],
  "an absolute update of the account": [
    ["  v_admitted record;\nbegin\n", "  v_admitted record;\n  v_before bigint[];\nbegin\n"],
    [
      "  v_meters := rta.lock_meters(v",
      "  v_before := array(select coalesce(account.reserved, 0) from unnest(v_counters.account_tenant_ids, v_counters.account_environments) with ordinality wanted (tenant_id, environment, at) left join public.credit_accounts account using (tenant_id, environment) order by at);\n  v_meters := rta.lock_meters(v",
    ],
    ["set reserved = account.reserved + held.amount, open", "set reserved = held.before + held.amount, open"],
    [
      "v_admitted.accounts_held, v_admitted.accounts_opened\n  ) held (tenant_id, environment, amount, sessions)",
      "v_admitted.accounts_held, v_admitted.accounts_opened, v_before\n  ) held (tenant_id, environment, amount, sessions, before)",
    ],
  ],
  "a sweep that ignores the lease": [
    "and (tenant_id, expires_at) <= (p_tenant_id, now())",
    "and (tenant_id, expires_at) <= (p_tenant_id, 'infinity')",
  ],
  "a sweep that checks the lease before the lock": [
    "where ended_at is null\n        and (tenant_id, expires_at) >= (p_tenant_id, '-infinity') and (tenant_id, expires_at) <= (p_tenant_id, now())\n      order by tenant_id, expires_at",
    "where tenant_id = p_tenant_id and id in (select id from public.usage_sessions where ended_at is null and expires_at <= now() and tenant_id = p_tenant_id)\n      order by tenant_id, expires_at",
  ],
  "a release that trusts the caller's figure": [
    "    if p_is_engine then",
    "    if p_used is not null or p_is_engine then",
  ],
  "a report that may lower the figure": ["least(reserved, greatest(used, p_used))", "least(reserved, p_used)"],
  "a report above the hold": ["least(reserved, greatest(used, p_used))", "greatest(used, p_used)"],
  "a release above the hold": [
    "charged := least(p_session.reserved, greatest(p_session.used, p_used))",
    "charged := greatest(p_session.used, p_used)",
  ],
  "a release below the report": [
    "charged := least(p_session.reserved, greatest(p_session.used, p_used))",
    "charged := least(p_session.reserved, coalesce(p_used, p_session.used))",
  ],
  "a release without usage:write ends a started session": [
    "v_marks := not p_is_engine and",
    "v_marks := false and not p_is_engine and",
  ],
  "a mark that ignores the lease": ["    and v_session.expires_at > clock_timestamp();", ";"],
  "a second mark raises the version": ["v_marks and not v_session.must_end then", "v_marks then"],
  "a session that may go on when its hold is used up": [
    "(p_session.must_end or p_session.used = p_session.reserved) as",
    "p_session.must_end as",
  ],
  "a session that may go on after its release": ["return p_session.must_end or", "return"],
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
  "a session that ends loses who closed it": ["closed_by = closing.closed_by,", "closed_by = null,"],
  "a report that does not say who made it": ["reported_by = p_caller.id,", "reported_by = null,"],
  "a release that frees nothing": [
    "update public.api_key_meters\n    set reserved = reserved - v_change.reserved",
    "update public.api_key_meters\n    set reserved = reserved - v_change.charged",
  ],
  "test use counts against live caps": ["and key.environment = own.environment", ""],
  "only the key's own cap": ["key.id = any (own.lineage || own.id)", "key.id = own.id"],
  "a refused request takes its credits": [
    "v_outcome.kind := 'insufficient_credits';",
    "v_outcome.kind := 'insufficient_credits';\n      accounts_held[v_account] := accounts_held[v_account] + 1;",
  ],
  "validity before the last lock": [
    "when (p_valid_until[request.ordinality] > p_now and",
    "when (p_valid_until[request.ordinality] is not null and",
  ],
  "claims without a look at those that exist": [
    "and claim.created_at > now() - interval '24 hours'\n    limit 1",
    "and false\n    limit 1",
  ],
  "avatars of the other environment": ["      and avatar.environment = request.environment\n", ""],
};

/** The text that creates the functions with this fault. Throws when the fault does not fit their present text. */
export const faultyFunctions = (name: string): string => {
  let text = CREATE_FUNCTIONS;
  const all: Mutations = {
    ...CREDIT_MUTATIONS,
    ...CALL_MUTATIONS,
    ...PEOPLE_MUTATIONS,
    ...EVENT_MUTATIONS,
    ...DELIVERY_MUTATIONS,
  };
  const mutation = all[name] ?? [];
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
    // A test may use a role with the rights of the service.
    await transaction.unsafe(
      `grant usage on schema ${FUNCTIONS_SCHEMA} to public; grant execute on all functions in schema ${FUNCTIONS_SCHEMA} to public`,
    );
  });
};
