-- Writes the audit events of those writes whose outcome is 'written', and sends those of keys, avatars, assets and credits to the
-- endpoints that select them (emit_events).
create function rta.insert_audit_events(p_audit_events rta.audit_event[], p_outcomes rta.write_outcome[]) returns void
language plpgsql as $$
begin
  insert into public.audit_events (
    tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  )
  select tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  from unnest(p_audit_events) with ordinality
  where p_outcomes[ordinality].kind = 'written';
  if exists (
    select from public.webhook_endpoints
    where tenant_id = any (array(select tenant_id from unnest(p_audit_events))) and status = 'enabled'
  ) then
    perform rta.emit_events(array(
      select row(tenant_id, environment, action, target_id, created_at)::rta.event
      from unnest(p_audit_events) with ordinality
      where p_outcomes[ordinality].kind = 'written' and split_part(action, '.', 1) in ('api_key', 'avatar', 'asset', 'credits')
    ));
  end if;
end $$;
