-- A session as the service reads it and as it is stored for replays: what is decided about it, under the names of the API.
-- `presentSession` of the domain presents it.
create function rta.session_record(p_session public.usage_sessions) returns json
language plpgsql stable as $$
begin
  return (
    select row_to_json(record) from (
      select p_session.id as "sessionId", p_session.environment, p_session.api_key_id as "apiKeyId",
        p_session.avatar_id as "avatarId",
        (
          select display_name from public.avatars
          where tenant_id = p_session.tenant_id and avatars.id = p_session.avatar_id
        ) as "avatarName",
        p_session.status, p_session.started_at as "startedAt", p_session.ended_at as "endedAt",
        ceil(extract(epoch from p_session.ended_at - p_session.started_at)) as "activeSeconds",
        case when p_session.ended_at is not null then p_session.used end as "billedCreditMicros",
        p_session.used as "usedCreditMicros", p_session.price as "priceCreditMicrosPerSecond", p_session.metadata,
        p_session.created_at as "createdAt", p_session.reserved as "reservedCreditMicros",
        p_session.expires_at as "expiresAt",
        p_session.ended_at is null and (p_session.must_end or p_session.used = p_session.reserved) as "mustEnd",
        p_session.reported_by as "reportedBy", p_session.closed_by as "closedBy", p_session.version
    ) record
  );
end $$;
