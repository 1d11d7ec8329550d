-- Returns the keys whose calls must end: the key itself or an ancestor is revoked, expired or missing, or has spent and
-- holds more than its lowered cap. The rows are read without locks, because only admissions enforce a cap strictly.
-- Each statement reads one table, because Citus plans a query of several tables at each execution.
create function rta.ended_keys(p_tenant_ids text[], p_api_key_ids text[], p_environments text[])
returns table (tenant_id text, api_key_id text, environment text)
language plpgsql stable rows 10 as $$
declare
  v_given record;
  v_lineage text[];
  v_key record;
  v_has_ended boolean;
begin
  for v_given in
    select distinct one.tenant_id collate "C" as tenant_id, one.api_key_id collate "C" as api_key_id, one.environment
    from unnest(p_tenant_ids, p_api_key_ids, p_environments) one (tenant_id, api_key_id, environment)
  loop
    select lineage || id into v_lineage from public.api_keys key
    where key.tenant_id = v_given.tenant_id and key.id = v_given.api_key_id;
    v_has_ended := not found;
    for v_key in
      select key.id, key.environment, key.spend_limit_credit_micros as cap, key.revoked_at, key.expires_at
      from public.api_keys key
      where key.tenant_id = v_given.tenant_id and key.id = any (v_lineage)
    loop
      v_has_ended := v_has_ended or v_key.revoked_at is not null or coalesce(v_key.expires_at <= clock_timestamp(), false);
      exit when v_has_ended;
      continue when v_key.cap is null or v_key.environment <> v_given.environment;
      perform from public.api_key_meters meter
      where meter.tenant_id = v_given.tenant_id and meter.api_key_id = v_key.id and meter.settled + meter.reserved > v_key.cap;
      v_has_ended := found;
      exit when v_has_ended;
    end loop;
    if v_has_ended then
      tenant_id := v_given.tenant_id;
      api_key_id := v_given.api_key_id;
      environment := v_given.environment;
      return next;
    end if;
  end loop;
end $$;
