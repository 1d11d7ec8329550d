-- Whether the call of a session must end for another reason than what it has used: a release has asked for it, or its key must
-- (ended_keys).
create function rta.must_end(p_session public.usage_sessions) returns boolean
language plpgsql stable as $$
begin
  return p_session.must_end or exists (
    select from rta.ended_keys(array[p_session.tenant_id], array[p_session.api_key_id], array[p_session.environment])
  );
end $$;
