-- Locks the sessions of a user, for a write that may end one of them. Lock order: sessions by primary key, after the user.
create function rta.lock_user_sessions(p_tenant_id text, p_user_id text) returns void
language plpgsql as $$
begin
  perform from public.user_sessions where tenant_id = p_tenant_id and user_id = p_user_id order by id for update;
end $$;
