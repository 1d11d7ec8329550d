-- Opens usage sessions, or starts calls, which are sessions with a slot of an avatar worker: holds credits for each,
-- within the caps and the session limits of every key of its lineage and of the account. Serves one request or a batch
-- of concurrent ones, with the same outcomes as if they came one by one, in their order. A refused request takes
-- nothing. Returns the outcome of each, in the order of `p_requests`.
--
-- Lock order: callers (lock_caller: keys, then credentials), all meters by primary key, all accounts by primary key,
-- free slots (skip locked), tickets, the claims, the events. The values that decide are read after the last lock that
-- can cause a wait (admit_sessions).
--
-- Only counters of locked rows decide. Sessions and entries are never summed.
create function rta.open_usage_sessions(
  p_callers rta.caller[],             -- each caller once
  p_caller_at integer[],              -- for each request, the position of its caller in p_callers
  p_requests rta.session_request[],
  p_calls rta.call_request[],         -- for each request; null when they start no calls
  p_claims rta.claim[],               -- for each request; null when no request of the batch has an Idempotency-Key
  p_wait boolean                      -- see lock_caller
) returns setof rta.session_outcome
language plpgsql as $$
declare
  v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at); -- for each request, its caller
  v_counters rta.counters;
  v_meters rta.locked_meter[];
  v_accounts rta.locked_account[];
  v_queue rta.call_queue;
  v_admitted record;
begin
  v_counters := rta.counters_of_callers(p_callers, p_caller_at, v_valid_until);
  v_meters := rta.lock_meters(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids);
  v_accounts := rta.lock_accounts(v_counters.account_tenant_ids, v_counters.account_environments);
  v_queue := rta.queue_of_calls(v_counters.callers, p_caller_at, p_calls);
  select * into v_admitted from rta.admit_sessions(
    v_counters, p_caller_at, v_valid_until, p_requests, p_calls, p_claims, v_meters, v_accounts, v_queue
  );

  perform rta.hold_counters(
    v_counters, v_admitted.meters_held, v_admitted.meters_opened, v_admitted.accounts_held, v_admitted.accounts_opened
  );
  v_admitted.outcomes := rta.place_calls(
    v_counters.callers, p_caller_at, p_requests, p_calls, v_queue, v_admitted.outcomes
  );
  perform rta.insert_usage_sessions(v_counters.callers, p_caller_at, p_requests, p_claims, v_admitted.outcomes);
  perform from public.webhook_endpoints where tenant_id = any (v_counters.account_tenant_ids) and status = 'enabled' limit 1;
  if found then
    perform rta.emit_opening_events(
      v_counters, p_caller_at, p_requests, v_accounts, v_admitted.accounts_held, v_admitted.outcomes
    );
  end if;
  return query select * from unnest(v_admitted.outcomes);
end $$;
