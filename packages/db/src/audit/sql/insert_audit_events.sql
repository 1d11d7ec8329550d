-- Writes the audit events of those writes whose outcome is 'written'. `p_are_events`: whether they are also events of
-- webhooks, which are sent to the endpoints that select them (emit_events). The calling function decides this.
create function rta.insert_audit_events(
  p_audit_events rta.audit_event[],
  p_outcomes rta.write_outcome[], -- null: all events are written
  p_are_events boolean
) returns void
language plpgsql as $$
begin
  insert into public.audit_events (
    tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  )
  select tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  from unnest(p_audit_events) with ordinality
  where p_outcomes is null or p_outcomes[ordinality].kind = 'written';
  if p_are_events then
    perform rta.emit_events(array(
      select row(tenant_id, environment, /* type */ action, target_id, created_at)::rta.event
      from unnest(p_audit_events) with ordinality
      where p_outcomes is null or p_outcomes[ordinality].kind = 'written'
    ));
  end if;
end $$;
