-- Whether the calls of a key must end: it, or an ancestor, is revoked or expired, or has spent and holds more than its cap, which
-- was lowered. Read without locks: the cap is hard for what is admitted, and nothing is taken back.
create function rta.must_end_for_key(p_tenant_id text, p_api_key_id text, p_environment text) returns boolean
language plpgsql stable as $$
begin
  return not exists (
    select from public.api_keys own
    where own.tenant_id = p_tenant_id and own.id = p_api_key_id
      and not exists (
        select from public.api_keys key
        left join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
        where key.tenant_id = own.tenant_id and key.id = any (own.lineage || own.id)
          and (
            key.revoked_at is not null or key.expires_at <= clock_timestamp()
            or key.environment = p_environment and meter.settled + meter.reserved > key.spend_limit_credit_micros
          )
      )
  );
end $$;
