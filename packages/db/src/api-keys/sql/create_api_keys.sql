-- Creates API keys with their credentials, audit events and claims, for one request or for a batch of concurrent ones.
-- Returns the outcome of each create, in the order of `p_api_keys`.
--
-- Lock order: callers (lock_caller), claims, then the new rows, which no other request can name.
--
-- A tenant with `p_max_active_keys` keys that are not marked as ended is over its quota. At most that many index entries
-- are read, once for each tenant. Keys that other transactions are writing do not count.
create function rta.create_api_keys(
  p_callers rta.caller[],           -- each caller once
  p_caller_at integer[],            -- for each key, the position of its caller in p_callers
  p_api_keys rta.api_key[],
  p_digests bytea[],                -- for each key, SHA-256 of its full secret
  p_audit_events rta.audit_event[], -- for each key
  p_claims rta.claim[],             -- for each key; null when no create of the batch has an Idempotency-Key
  p_max_active_keys bigint,
  p_wait boolean                    -- see lock_caller
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_callers_until timestamptz[] := array(select rta.lock_caller(caller, p_wait) from unnest(p_callers) caller);
  v_valid_until timestamptz[] := array(select v_callers_until[at] from unnest(p_caller_at) at); -- for each key, its caller
  v_outcomes rta.write_outcome[];
  v_full_tenants text[] := array(
    select tenant_id from (select distinct tenant_id from unnest(p_callers)) tenants
    where p_max_active_keys <= (
      select count(*) from (
        select from public.api_keys active
        where active.tenant_id = tenants.tenant_id and active.ended_at is null
        order by active.tenant_id, active.id limit p_max_active_keys
      ) counted
    )
  );
begin
  -- A create is 'written' unless a check below refuses it. The INSERT writes the rows that are 'written'.
  for v_at in 1 .. cardinality(p_api_keys) loop
    v_outcomes[v_at].kind := case
      when v_valid_until[v_at] is null then 'stale'
      -- The new key has expired since its caller was looked up.
      when p_api_keys[v_at].expires_at <= clock_timestamp() then 'stale'
      when p_api_keys[v_at].tenant_id = any (v_full_tenants) then 'over_quota'
      else 'written'
    end;
  end loop;
  if p_claims is not null then
    v_outcomes := rta.claim_idempotency_keys(
      p_callers, p_caller_at, v_valid_until, p_claims, p_audit_events, v_outcomes
    );
  end if;

  perform rta.insert_api_keys(p_api_keys, p_digests, p_audit_events, v_outcomes);
  return query select * from unnest(v_outcomes);
end $$;
