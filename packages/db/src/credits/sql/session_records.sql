-- Sessions in the form in which the service reads them and stores them for replays, with the field names of the API.
-- `presentSession` of the domain presents them. `p_ended_keys`: keys that have ended (ended_keys), whose open sessions
-- must end. One statement for all sessions, because a call for each would take four times as long. The names of avatars
-- are read before it, by statements of one table each, because Citus plans a query of several tables at each execution.
create function rta.session_records(p_sessions public.usage_sessions[], p_ended_keys text[]) returns json[]
language plpgsql stable as $$
declare
  v_names text[]; -- for each session, the name of its avatar
  v_name text;
begin
  for v_at in 1 .. coalesce(cardinality(p_sessions), 0) loop
    continue when p_sessions[v_at].avatar_id is null;
    select display_name into v_name from public.avatars
    where tenant_id = p_sessions[v_at].tenant_id and id = p_sessions[v_at].avatar_id;
    v_names[v_at] := v_name;
  end loop;
  return array(
    select case when record."sessionId" is not null then row_to_json(record) end from (
      select session.id as "sessionId", session.environment, session.api_key_id as "apiKeyId",
        session.avatar_id as "avatarId",
        v_names[session.ordinality] as "avatarName",
        session.video_id as "videoId",
        session.status, session.started_at as "startedAt", session.ended_at as "endedAt",
        ceil(extract(epoch from session.ended_at - session.started_at)) as "activeSeconds",
        case when session.ended_at is not null then session.used end as "billedCreditMicros",
        session.used as "usedCreditMicros", session.price as "priceCreditMicrosPerSecond", session.metadata,
        session.created_at as "createdAt", session.reserved as "reservedCreditMicros",
        session.expires_at as "expiresAt",
        session.ended_at is null and (
          session.must_end or session.used = session.reserved or coalesce(session.api_key_id = any (p_ended_keys), false)
        ) as "mustEnd",
        session.reported_by as "reportedBy", session.closed_by as "closedBy",
        -- `failed` with a key as closer: fail_call has ended a call whose room was not created. A session that was
        -- released but ended by its lease keeps the reason of the release.
        case
          when session.ended_at is null or session.closed_by is null then null
          when session.closed_by = 'sweep' and session.reason is not null and not session.must_end
            then session.reason
          when session.closed_by = 'sweep' and session.must_end and session.video_id is not null then 'released'
          when session.closed_by = 'sweep' and session.started_at is null then 'not_started'
          when session.closed_by = 'sweep' then 'lease_expired'
          when session.status = 'failed' and session.reason = 'failed' then 'failed'
          else 'released'
        end as "endReason",
        case
          when session.must_end
            or session.closed_by <> 'sweep' and not (session.status = 'failed' and session.reason = 'failed')
            then session.reason
        end as "releaseReason",
        session.version
      from unnest(p_sessions) with ordinality session
      order by session.ordinality
      offset 0
    ) record
  );
end $$;
