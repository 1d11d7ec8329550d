-- Those of the given keys whose calls must end: the key itself or an ancestor is revoked, expired or missing, or has spent and
-- holds more than its cap, which was lowered. Read without locks: the cap is hard for what is admitted, and nothing is taken back.
-- `offset 0`: otherwise the server may read all keys or meters of the tenant, for each key.
create function rta.ended_keys(p_tenant_ids text[], p_api_key_ids text[], p_environments text[])
returns table (tenant_id text, api_key_id text, environment text)
language plpgsql stable rows 10 as $$
begin
  return query
  select given.tenant_id, given.api_key_id, given.environment
  from (
    select distinct one.tenant_id collate "C" as tenant_id, one.api_key_id collate "C" as api_key_id, one.environment
    from unnest(p_tenant_ids, p_api_key_ids, p_environments) one (tenant_id, api_key_id, environment)
  ) given
  left join lateral (
    select one.* from public.api_keys one where one.tenant_id = given.tenant_id and one.id = given.api_key_id offset 0
  ) own on true
  where own.id is null or exists (
    select from public.api_keys key
    left join lateral (
      select * from public.api_key_meters one where one.tenant_id = key.tenant_id and one.api_key_id = key.id offset 0
    ) meter on true
    where key.tenant_id = own.tenant_id and key.id = any (own.lineage || own.id) and (
      key.revoked_at is not null or key.expires_at <= clock_timestamp()
      or key.environment = given.environment and meter.settled + meter.reserved > key.spend_limit_credit_micros
    )
  );
end $$;
