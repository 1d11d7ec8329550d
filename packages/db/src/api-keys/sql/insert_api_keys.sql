-- Writes keys with their first credentials, their meters and their audit events.
create function rta.insert_api_keys(
  p_api_keys rta.api_key[],
  p_digests bytea[],                -- for each key, SHA-256 of its full secret
  p_audit_events rta.audit_event[], -- for each key
  p_outcomes rta.write_outcome[]   -- for each key: only those whose kind is 'written' are written
) returns void
language plpgsql as $$
begin
  insert into public.api_keys (
    tenant_id, id, key_id, environment, name, scopes, spend_limit_credit_micros, max_concurrent_sessions, expires_at, lineage,
    version, created_at
  )
  select tenant_id, id, key_id, environment, name, scopes, spend_limit_credit_micros, max_concurrent_sessions, expires_at,
    lineage, version, created_at
  from unnest(p_api_keys) with ordinality
  where p_outcomes[ordinality].kind = 'written';

  insert into public.api_key_credentials (key_id, tenant_id, api_key_id, digest, is_unused, created_at)
  select key_id, tenant_id, id, p_digests[ordinality], false, created_at
  from unnest(p_api_keys) with ordinality
  where p_outcomes[ordinality].kind = 'written';

  insert into public.api_key_meters (tenant_id, api_key_id)
  select tenant_id, id from unnest(p_api_keys) with ordinality
  where p_outcomes[ordinality].kind = 'written';

  perform rta.insert_audit_events(p_audit_events, p_outcomes, true);
end $$;
