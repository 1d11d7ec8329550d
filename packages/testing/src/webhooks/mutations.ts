/** Faults that the tests of events must find: see `credits/mutations.ts`. */
export const EVENT_MUTATIONS = {
  "a taken sequence is given up": [
    "  if cardinality(v_written) = cardinality(v_events) then\n    return;",
    "  if true then\n    return;",
  ],
  "events in no order": ["    order by tenant_id, target_id, at\n  ) into", "    order by at\n  ) into"],
  "events of every environment": [
    "and endpoint.environment = event.environment\n          and endpoint.status",
    "and endpoint.status",
  ],
  "events of disabled endpoints": [
    "endpoint.environment = event.environment\n          and endpoint.status = 'enabled'",
    "endpoint.environment = event.environment",
  ],
  "events of refused writes": ["where p_outcomes is null or p_outcomes[ordinality].kind = 'written'\n    ));", "));"],
  "a start at each report of a batch": [
    "if v_sessions[v_at].started_at is null then\n      v_started",
    "if true then\n      v_started",
  ],
  "no end of a session": [
    "  if found then\n    perform rta.emit_closing_events",
    "  if false then\n    perform rta.emit_closing_events",
  ],
  "low credits at each hold": [
    "p_after < p_new_threshold and (p_before < p_threshold) is not true",
    "p_after < p_new_threshold",
  ],
  "exhausted credits at each refusal": ["and (account.exhausted_at > p_now - interval '1 hour') is not true", ""],
  "a cap at each end": ["      and meter.spend_notice < reached.percent\n", ""],
  "a key at each sweep": [
    ["and (meter.expiry_notice <= due.days) is not true", ""],
    [" on (meter.expiry_notice <= key.days) is not true", " on true"],
  ],
} as const;
