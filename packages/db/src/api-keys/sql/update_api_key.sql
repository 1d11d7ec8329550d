-- Changes a key to `p_api_key` and writes the audit event. Returns false and writes nothing when the caller or the
-- target has changed since its look-up, or the new expiry has passed. Lock order: see lock_target; then the meter of
-- the target, if it has notices, and the event.
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

  -- A raised spend cap and a changed expiry are announced again (emit_closing_events, announce_expiring_keys).
  update public.api_key_meters meter set
    spend_notice = case
      when p_api_key.spend_limit_credit_micros <= key.spend_limit_credit_micros then meter.spend_notice else 0
    end,
    expiry_notice = case when p_api_key.expires_at = key.expires_at then meter.expiry_notice end
  from public.api_keys key
  where key.tenant_id = p_target.tenant_id and key.id = p_target.id
    and meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
    and (meter.spend_notice > 0 or meter.expiry_notice is not null);

  update public.api_keys set
    name = p_api_key.name, scopes = p_api_key.scopes,
    spend_limit_credit_micros = p_api_key.spend_limit_credit_micros,
    max_concurrent_sessions = p_api_key.max_concurrent_sessions, expires_at = p_api_key.expires_at,
    version = version + 1
  where tenant_id = p_target.tenant_id and id = p_target.id;

  perform rta.insert_audit_events(array[p_audit_event], null, true);
  return true;
end $$;
