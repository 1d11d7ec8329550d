-- Whether the call of a session must end for another reason than what it has used: a release has asked for it, or its key must
-- (must_end_for_key).
create function rta.must_end(p_session public.usage_sessions) returns boolean
language plpgsql stable as $$
begin
  return p_session.must_end or rta.must_end_for_key(p_session.tenant_id, p_session.api_key_id, p_session.environment);
end $$;
