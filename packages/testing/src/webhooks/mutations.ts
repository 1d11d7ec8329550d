/** Faults that the tests of events must find: see `credits/mutations.ts`. */
export const EVENT_MUTATIONS = {
  "a taken sequence is given up": [
    "    if v_written < cardinality(v_events) then\n      v_events := rta.renumber_events(v_events);\n    end if;",
    "    exit;",
  ],
  "a taken sequence of a single event is given up": ["    exit when found;", "    exit;"],
  "events in no order": ["    order by tenant_id, target_id, at\n  );", "    order by at\n  );"],
  "events of every environment": [
    "and endpoint.environment = event.environment\n          and endpoint.status",
    "and endpoint.status",
  ],
  "a single event of every environment": [
    "endpoint.environment = p_event.environment and endpoint.status",
    "endpoint.status",
  ],
  "a single event of disabled endpoints": [
    "endpoint.environment = p_event.environment and endpoint.status = 'enabled'",
    "endpoint.environment = p_event.environment",
  ],
  "events of disabled endpoints": [
    "endpoint.environment = event.environment\n          and endpoint.status = 'enabled'",
    "endpoint.environment = event.environment",
  ],
  "events of refused writes": [
    ["if p_outcomes[1].kind = 'written' and split_part", "if split_part"],
    ["where p_outcomes[ordinality].kind = 'written' and split_part", "where split_part"],
  ],
  "a start at each report": [
    "if v_session.started_at is null then\n    perform rta.emit_sessions_started",
    "if true then\n    perform rta.emit_sessions_started",
  ],
  "a start at each report of a batch": [
    "v_reported[at].id is not null and v_sessions[at].started_at is null",
    "v_reported[at].id is not null",
  ],
  "no end of a session": [
    "  if rta.has_endpoints(array(select tenant_id from unnest(p_closings))) then",
    "  if false then",
  ],
  "low credits at each hold": [
    "p_after < p_new_threshold and (p_before < p_threshold) is not true",
    "p_after < p_new_threshold",
  ],
  "exhausted credits at each refusal": ["and (account.exhausted_at > v_now - interval '1 hour') is not true", ""],
  "a cap at each end": ["      and meter.spend_notice < reached.percent\n", ""],
  "a key at each sweep": [
    ["and (meter.expiry_notice <= due.days) is not true", ""],
    [" on (meter.expiry_notice <= key.days) is not true", " on true"],
  ],
} as const;
