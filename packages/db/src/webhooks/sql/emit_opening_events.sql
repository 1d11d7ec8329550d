-- Sends the events of a batch of requests to open sessions:
--   `usage_session.opened`  for each session
--   `credits.low`           for each account that has fallen below its threshold
--   `credits.exhausted`     for each account with too few credits for a request, at most once an hour
-- The calling function has locked the accounts.
--
-- Lock order: the events of sessions, then those of tenants, one by one, by tenant (see emit_events). A batch of the same tenants in
-- the other environment locks other accounts, and writes events of the same targets.
create function rta.emit_opening_events(
  p_counters rta.counters,
  p_caller_at integer[],            -- for each request, the position of its caller
  p_requests rta.session_request[],
  p_accounts rta.locked_account[],  -- the accounts of p_counters before the batch
  p_held bigint[],                  -- the additional hold of each account
  p_outcomes rta.session_outcome[]
) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_exhausted rta.event[];
  v_of_tenants rta.event[];
  v_event rta.event;
begin
  if exists (select from unnest(p_outcomes) where kind = 'insufficient_credits') then
    select rta.exhausted_events(array_agg(caller.tenant_id), array_agg(caller.environment), v_now) into v_exhausted
    from unnest(p_outcomes) with ordinality outcome
    join unnest(p_counters.callers) caller on caller.caller_at = p_caller_at[outcome.ordinality]
    where outcome.kind = 'insufficient_credits';
  end if;
  perform rta.emit_events(array(
    select row(caller.tenant_id, caller.environment, 'usage_session.opened', /* target_id */ request.id, request.created_at)::rta.event
    from unnest(p_requests) with ordinality request
    join unnest(p_counters.callers) caller on caller.caller_at = p_caller_at[request.ordinality]
    where p_outcomes[request.ordinality].kind = 'written'
  ));
  v_of_tenants := v_exhausted || array(
    select row(
      /* tenant_id */ p_counters.account_tenant_ids[at], /* environment */ p_counters.account_environments[at], 'credits.low',
      /* target_id */ p_counters.account_tenant_ids[at], /* created_at */ v_now
    )::rta.event
    from unnest(p_accounts, p_held) with ordinality account (available, open_sessions, session_limit, low_threshold, max_call_seconds, held, at)
    where rta.falls_below(available, available - held, low_threshold, low_threshold)
  );
  if cardinality(v_of_tenants) > 0 then
    for v_event in select * from unnest(v_of_tenants) order by tenant_id loop
      perform rta.emit_events(array[v_event]);
    end loop;
  end if;
end $$;
