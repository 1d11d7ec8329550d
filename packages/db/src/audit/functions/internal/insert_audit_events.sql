-- Writes the audit events of those writes whose outcome is 'written'.
create function rta.insert_audit_events(p_audit_events rta.audit_event[], p_outcomes rta.write_outcome[]) returns void
language plpgsql as $$
begin
  insert into public.audit_events (
    tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  )
  select tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  from unnest(p_audit_events) with ordinality
  where p_outcomes[ordinality].kind = 'written';
end $$;
