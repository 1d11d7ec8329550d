-- Adds an amount to the hold of a call, with an entry. Its worker learns for how long the call can go on: see
-- work_of_worker. The calling function has locked the session, its call and its counters, and has decided the amount
-- (growth_of).
create function rta.grow_hold(
  p_session public.usage_sessions, p_amount bigint, p_entry_id text, p_request_id text, p_now timestamptz
) returns void
language plpgsql as $$
begin
  update public.api_key_meters set reserved = reserved + p_amount
  where tenant_id = p_session.tenant_id and api_key_id = any (p_session.lineage);
  update public.credit_accounts set reserved = reserved + p_amount, version = version + 1, updated_at = p_now
  where tenant_id = p_session.tenant_id and environment = p_session.environment;
  update public.usage_sessions set reserved = reserved + p_amount, version = version + 1
  where tenant_id = p_session.tenant_id and id = p_session.id;
  insert into public.credit_entries (tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at)
  values (
    p_session.tenant_id, p_entry_id, p_session.environment, 'hold', p_amount, /* session_id */ p_session.id, p_session.api_key_id, p_request_id, p_now
  );
end $$;
