-- A session as the service reads it.
create function rta.present_session(p_tenant_id text, p_id text) returns rta.usage_session
language plpgsql stable as $$
begin
  return (
    select row(
      session.id, session.environment, session.api_key_id, session.avatar_id, avatar.display_name, session.status,
      session.reserved, session.used, session.price, session.metadata, session.version, session.created_at,
      session.started_at, session.ended_at, session.expires_at, session.must_end, session.reported_by, session.closed_by
    )::rta.usage_session
    from public.usage_sessions session
    left join public.avatars avatar on avatar.tenant_id = session.tenant_id and avatar.id = session.avatar_id
    where session.tenant_id = p_tenant_id and session.id = p_id
  );
end $$;
