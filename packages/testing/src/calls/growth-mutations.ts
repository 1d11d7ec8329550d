/** Faults that the tests of growing holds must find, each a change of the text of the database functions: see `mutate`. */

export const GROWTH_MUTATIONS = {
  "a growth above a cap": [
    "select least(v_seconds, min((key.spend_limit_credit_micros - meter.settled - meter.reserved) / p_session.price)) into v_seconds",
    "select least(v_seconds, min(v_seconds)) into v_seconds",
  ],
  "a growth under a cap that is being changed": ["and own.lineage || own.id <@ p_locked_keys;", ";"],
  "a growth with an ended ancestor": [
    "if not found or exists (\n    select from rta.ended_keys(array[p_session.tenant_id], array[p_session.api_key_id], array[p_session.environment])\n  ) then",
    "if not found then",
  ],
  "a growth by a balance that was read before the lock": [
    "perform rta.lock_counters(v_closings);\n  v_now := date_trunc('milliseconds', clock_timestamp()); -- after the last wait\n  select array_agg(account)",
    "select array_agg(account)",
  ],
  "a growth beyond the balance": [
    "select least(v_seconds, (granted - forfeited - settled - reserved) / p_session.price) into v_seconds",
    "select v_seconds into v_seconds",
  ],
  "a growth by more than a step": [
    "v_seconds := least(p_terms.step_seconds, v_call.max_seconds - p_session.reserved / p_session.price);",
    "v_seconds := v_call.max_seconds - p_session.reserved / p_session.price;",
  ],
  "a growth beyond what the call asked for": [
    "v_seconds := least(p_terms.step_seconds, v_call.max_seconds - p_session.reserved / p_session.price);",
    "v_seconds := p_terms.step_seconds;",
  ],
  "a growth that locks slots in another order": [
    "where session_id = any (v_grown) order by worker_id, n for no key update;",
    "where session_id = any (v_grown) order by worker_id, n desc for no key update;",
  ],
} as const;
