-- Revokes a key, and with it its descendants (their validity is derived from their lineage), and writes the audit
-- event. Returns the key after that. Returns no row and writes nothing when the caller or the target has changed since
-- its look-up, or the secret that reports the key may not report it.
--
-- The actor is a key, the operator (`p_caller` null), or the holder of a secret of the target (`p_reporter_key_id`).
-- Lock order: see lock_target. The reporter's credential comes after the key, like the credential of a caller.
create function rta.revoke_api_key(
  p_caller rta.caller,
  p_reporter_key_id text,
  p_target rta.target,
  p_audit_event rta.audit_event
) returns setof rta.api_key
language plpgsql as $$
declare
  v_now timestamptz;
begin
  if not rta.lock_target(p_caller, p_target) then
    return;
  end if;
  if p_reporter_key_id is not null then
    perform from public.api_key_credentials where key_id = p_reporter_key_id for share;
    if not exists (
      select from public.api_key_credentials
      where key_id = p_reporter_key_id and tenant_id = p_target.tenant_id and api_key_id = p_target.id
        and rta.may_report(retired_at, retired_by = api_key_id, clock_timestamp())
    ) then
      return;
    end if;
  end if;

  -- Rounded down, so that the revocation time has passed when this commits.
  v_now := date_trunc('milliseconds', clock_timestamp());
  return query
  update public.api_keys set revoked_at = v_now, ended_at = v_now, version = version + 1
  where tenant_id = p_target.tenant_id and id = p_target.id
  returning tenant_id, id, key_id, environment, name, scopes, spend_limit_credit_micros, max_concurrent_sessions, expires_at,
    lineage, version, created_at;

  perform rta.insert_audit_events(array[p_audit_event], null, true);
end $$;
