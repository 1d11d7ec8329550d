-- Renews the lease of a call whose fragments are joined, and returns whether it is still held.
-- Lock order: the row of the call in call_recordings.
create function rta.renew_recordings(p_tenant_id text, p_session_id text, p_lease text, p_lease_seconds integer) returns boolean
language plpgsql as $$
declare
  v_until timestamptz := date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => p_lease_seconds);
begin
  update public.call_recordings set leased_until = v_until
  where tenant_id = p_tenant_id and session_id = p_session_id and lease = p_lease;
  return found;
end $$;
