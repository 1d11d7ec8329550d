-- Changes a key to `p_api_key` and writes the audit event. Returns false, with nothing written, when the caller or the
-- target has changed since its look-up, or the new expiry has passed.
-- Lock order: see lock_target.
create function rta.update_api_key(
  p_caller rta.caller,
  p_target rta.target,
  p_api_key rta.api_key,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
begin
  if not rta.lock_target(p_caller, p_target) or p_api_key.expires_at <= clock_timestamp() then
    return false;
  end if;

  update public.api_keys set
    name = p_api_key.name, scopes = p_api_key.scopes,
    spend_limit_credit_micros = p_api_key.spend_limit_credit_micros,
    max_concurrent_sessions = p_api_key.max_concurrent_sessions, expires_at = p_api_key.expires_at,
    version = version + 1
  where tenant_id = p_target.tenant_id and id = p_target.id;

  perform rta.insert_audit_events(array[p_audit_event], rta.all_written());
  return true;
end $$;
