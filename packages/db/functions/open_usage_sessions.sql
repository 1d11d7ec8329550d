-- Opens usage sessions: holds credits for each, under the cap of every key of its lineage and the balance of the account.
-- Serves one request and a batch of concurrent ones, and answers each as if they came one by one, in their order: a refused
-- request takes nothing. Returns the outcome of each, in the order of `p_requests`.
--
-- Lock order: callers (lock_callers: keys, then credentials), all meters by primary key, all accounts by primary key, the
-- claims. Everything that decides is read after the last lock that can be waited for (admit_sessions).
--
-- Only counters of locked rows decide; sessions and entries are never summed.
create function rta.open_usage_sessions(
  p_callers rta.caller[],             -- each caller once
  p_caller_at integer[],              -- for each request, the position of its caller in p_callers
  p_requests rta.session_request[],
  p_claims rta.claim[],               -- for each request; null when no request of the batch has an Idempotency-Key
  p_wait boolean                      -- see lock_caller
) returns setof rta.session_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz[] := rta.lock_callers(p_callers, p_caller_at, p_wait); -- for each request, its caller
  v_counters rta.counters;
  v_used bigint[];
  v_available bigint[];
  v_admitted record;
begin
  v_counters := rta.counters_of_callers(p_callers, p_caller_at, v_valid_until);
  v_used := rta.lock_meters(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids);
  v_available := rta.lock_accounts(v_counters.account_tenant_ids, v_counters.account_environments);
  select * into v_admitted from rta.admit_sessions(
    v_counters.callers, p_caller_at, v_valid_until, p_requests, p_claims,
    array(select cap - used from unnest(v_counters.caps, v_used) with ordinality meter (cap, used, at) order by at),
    v_available
  );

  update public.api_key_meters meter set reserved = meter.reserved + held.amount
  from unnest(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids, v_admitted.meters_held)
    held (tenant_id, api_key_id, amount)
  where meter.tenant_id = held.tenant_id and meter.api_key_id = held.api_key_id and held.amount > 0;
  update public.credit_accounts account
  set reserved = account.reserved + held.amount, version = account.version + 1, updated_at = now()
  from unnest(v_counters.account_tenant_ids, v_counters.account_environments, v_admitted.accounts_held)
    held (tenant_id, environment, amount)
  where account.tenant_id = held.tenant_id and account.environment = held.environment and held.amount > 0;
  perform rta.insert_usage_sessions(v_counters.callers, p_caller_at, p_requests, p_claims, v_admitted.outcomes);
  return query select * from unnest(v_admitted.outcomes);
end $$;
