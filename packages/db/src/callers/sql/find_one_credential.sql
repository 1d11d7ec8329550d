-- Returns the same columns for one credential as the statement find_credential (callers.ts), by queries of one table
-- each. Citus plans a query of several tables at each execution, but keeps the plan of a query of one table. So this
-- function looks up one credential on Citus. For several credentials, and on one database, the statement is cheaper.
create function rta.find_one_credential(p_key_id text, p_target_id text, p_including text)
returns table (
  digest bytea,
  retired boolean,
  is_unused boolean,
  may_report boolean,
  is_caller boolean,
  checked_at timestamptz,
  has_pending_change boolean,
  headroom json,
  balance json,
  status text,
  tenant_id text,
  id text,
  key_id text,
  environment text,
  name text,
  scopes text[],
  spend_limit_credit_micros bigint,
  inherited_spend_limit_credit_micros bigint,
  max_concurrent_sessions bigint,
  inherited_max_concurrent_sessions bigint,
  expires_at timestamptz,
  inherited_expires_at timestamptz,
  lineage text[],
  version integer,
  spent_credit_micros bigint,
  reserved_credit_micros bigint,
  last_used_at timestamptz,
  created_at timestamptz
)
language plpgsql stable as $$
#variable_conflict use_column
declare
  v_found record;
  v_key record;
  v_above record;
  v_meter record;
begin
  select api_key_id, tenant_id, digest, retired_at, retired_by, is_unused into v_found
  from public.api_key_credentials where key_id = p_key_id collate "C";
  if not found then
    return;
  end if;
  digest := v_found.digest;
  retired := coalesce(v_found.retired_at <= now(), false);
  is_unused := v_found.is_unused;
  may_report := rta.may_report(v_found.retired_at, v_found.retired_by = v_found.api_key_id, now());
  checked_at := now();
  for v_key in
    select tenant_id, id, key_id, environment, name, scopes, spend_limit_credit_micros, max_concurrent_sessions, expires_at,
      revoked_at, lineage, version, created_at
    from public.api_keys
    where tenant_id = v_found.tenant_id and id = any(array[v_found.api_key_id, p_target_id] collate "C")
  loop
    -- A key without ancestors inherits nothing.
    select 0::bigint as length, false as revoked, false as expired, null::timestamptz as expires_at, null::bigint as spend_limit,
      null::bigint as max_sessions
    into v_above;
    if cardinality(v_key.lineage) > 0 then
      select count(*) as length, bool_or(revoked_at is not null) as revoked, bool_or(expires_at <= now()) as expired,
        min(expires_at) as expires_at,
        min(spend_limit_credit_micros) filter (where environment = v_key.environment) as spend_limit,
        min(max_concurrent_sessions) filter (where environment = v_key.environment) as max_sessions
      into v_above
      from public.api_keys where tenant_id = v_key.tenant_id and id = any(v_key.lineage collate "C");
    end if;
    select settled, reserved into v_meter
    from public.api_key_meters where tenant_id = v_key.tenant_id and api_key_id = v_key.id;
    select last_used_at into last_used_at
    from public.api_key_usage where tenant_id = v_key.tenant_id and api_key_id = v_key.id;
    has_pending_change := exists (
      select from public.pending_changes
      where tenant_id = v_key.tenant_id and subject_id = any((v_key.lineage || v_key.id) collate "C")
        and announced_at > now() - interval '1 second'
    );
    is_caller := v_key.id = v_found.api_key_id;
    headroom := null;
    balance := null;
    if is_caller and p_including = 'headroom' then
      headroom := rta.find_headroom(v_key.tenant_id, v_key.environment, v_key.id, v_key.lineage);
    elsif is_caller and p_including = 'balance' then
      select json_build_object(
        'granted', granted, 'forfeited', forfeited, 'settled', settled, 'reserved', reserved, 'lowThreshold', low_threshold,
        'updatedAt', updated_at
      ) into balance
      from public.credit_accounts where tenant_id = v_key.tenant_id and environment = v_key.environment;
    end if;
    status := case
      when v_key.revoked_at is not null or v_above.revoked or v_above.length < cardinality(v_key.lineage) then 'revoked'
      when v_key.expires_at <= now() or v_above.expired then 'expired'
      else 'active'
    end;
    tenant_id := v_key.tenant_id;
    id := v_key.id;
    key_id := v_key.key_id;
    environment := v_key.environment;
    name := v_key.name;
    scopes := v_key.scopes;
    spend_limit_credit_micros := v_key.spend_limit_credit_micros;
    inherited_spend_limit_credit_micros := v_above.spend_limit;
    max_concurrent_sessions := v_key.max_concurrent_sessions;
    inherited_max_concurrent_sessions := v_above.max_sessions;
    expires_at := v_key.expires_at;
    inherited_expires_at := v_above.expires_at;
    lineage := v_key.lineage;
    version := v_key.version;
    spent_credit_micros := coalesce(v_meter.settled, 0);
    reserved_credit_micros := coalesce(v_meter.reserved, 0);
    created_at := v_key.created_at;
    return next;
  end loop;
end $$;
