-- Disables an enabled endpoint that has responded with 410, or has been failing since `p_before` or longer. Lock order:
-- the calling function has locked the endpoint; the event (disable_endpoint).
create function rta.disable_failing_endpoint(
  p_tenant_id text,
  p_id text,
  p_is_gone boolean,
  p_before timestamptz,
  p_audit_event rta.audit_event
) returns void
language plpgsql as $$
begin
  if exists (
    select from public.webhook_endpoints
    where tenant_id = p_tenant_id and id = p_id and status = 'enabled' and (p_is_gone or failing_since <= p_before)
  ) then
    perform rta.disable_endpoint(
      rta.lock_webhook_endpoint(p_tenant_id, null, p_id), case when p_is_gone then 'gone' else 'failing' end, p_audit_event
    );
  end if;
end $$;
