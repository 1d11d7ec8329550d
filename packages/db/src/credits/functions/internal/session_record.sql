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
        p_session.reported_by as "reportedBy", p_session.closed_by as "closedBy",
        -- `failed` with a key: fail_call, which ends a call whose room was not created. A session that was released and then
        -- left to the end of its lease keeps the words of its key as its reason.
        case
          when p_session.ended_at is null or p_session.closed_by is null then null
          when p_session.closed_by = 'sweep' and p_session.reason is not null and not p_session.must_end
            then p_session.reason
          when p_session.closed_by = 'sweep' and p_session.started_at is null then 'not_started'
          when p_session.closed_by = 'sweep' then 'lease_expired'
          when p_session.status = 'failed' and p_session.reason = 'failed' then 'failed'
          else 'released'
        end as "endReason",
        case
          when p_session.must_end
            or p_session.closed_by <> 'sweep' and not (p_session.status = 'failed' and p_session.reason = 'failed')
            then p_session.reason
        end as "releaseReason",
        p_session.version
    ) record
  );
end $$;
