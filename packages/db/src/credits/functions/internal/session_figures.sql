-- A session as the API shows it, member by member: what `presentSession` of the domain returns. A test compares them.
create function rta.session_figures(p_session rta.usage_session) returns json
language sql stable as $$
  select json_build_object(
    'sessionId', p_session.id,
    'environment', p_session.environment,
    'apiKeyId', p_session.api_key_id,
    'avatarId', p_session.avatar_id,
    'avatarName', p_session.avatar_name,
    'status', p_session.status,
    'startedAt', to_char(p_session.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'endedAt', to_char(p_session.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'activeSeconds', ceil(extract(epoch from p_session.ended_at - p_session.started_at)),
    'billedCreditMicros', case when p_session.ended_at is not null then p_session.used end,
    'usedCreditMicros', p_session.used,
    'priceCreditMicrosPerSecond', p_session.price,
    'metadata', p_session.metadata,
    'createdAt', to_char(p_session.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'reservedCreditMicros', p_session.reserved,
    'expiresAt', to_char(p_session.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'mustEnd', p_session.ended_at is null and (p_session.must_end or p_session.used = p_session.reserved),
    'reportedBy', p_session.reported_by,
    'closedBy', p_session.closed_by
  )
$$;
