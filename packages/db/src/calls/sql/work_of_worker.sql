-- The work of a worker, for the calls that it lists: see sync_worker. A call whose lease has expired belongs to no
-- worker: its reports are dropped (write_reports), and the sweep ends it. A call with an agent starts when the agent
-- has brought the avatar. `history`: the newest segments (MAX_HISTORY_SEGMENTS), sealed. A call with the test outcome
-- `never_joined` is given to no worker. `is_told`: a fragment is stored, so the person was told of the recording.
create function rta.work_of_worker(p_worker_id text, p_calls rta.reported_call[], p_rooms text[], p_turns json) returns json
language sql stable as $$
  with own as materialized (
    select slot.tenant_id, slot.session_id, call.generation, call.room, call.room_name, call.mode, call.input, call.max_seconds,
      call.room_number, call.gap_count, call.gap_seconds, call.has_history, call.handovers, call.lost_processes, session.reserved / session.price as held_seconds,
      agent.session_id is not null as has_agent, agent.url, agent.token, agent.identity
    from fleet.avatar_slots slot
    join public.calls call on call.tenant_id = slot.tenant_id and call.session_id = slot.session_id
    cross join lateral (
      select * from public.usage_sessions one where one.tenant_id = slot.tenant_id and one.id = slot.session_id
      offset 0 -- so that the planner reads by the primary key: see report_usages
    ) session
    left join public.call_agents agent on agent.tenant_id = slot.tenant_id and agent.session_id = slot.session_id
    where slot.worker_id = p_worker_id and session.ended_at is null and session.expires_at > clock_timestamp()
  )
  select json_build_object(
    'start', (
      select coalesce(json_agg(json_build_object(
        'tenantId', session.tenant_id, 'sessionId', session.id, 'generation', own.generation, 'environment', session.environment,
        'roomName', own.room_name, 'mode', own.mode, 'avatarId', session.avatar_id,
        'manifest', avatar.cache_manifest_id, 'defaultVoiceId', avatar.default_voice_id,
        'input', own.input, 'maxSeconds', session.reserved / session.price,
        'limit', case when session.reserved / session.price < own.max_seconds then 'out_of_credits' else 'session_cap' end,
        'longestSeconds', case when own.max_seconds > 1800 then own.max_seconds end,
        'usedSeconds', session.used / session.price, 'hasTranscript', exists (
          select from public.call_transcripts one where one.tenant_id = own.tenant_id and one.session_id = own.session_id
        ),
        'recording', (
          select json_build_object('mode', one.mode, 'is_told', one.fragment_count > 0) from public.call_recordings one
          where one.tenant_id = own.tenant_id and one.session_id = own.session_id
        ),
        'history', case when own.has_history then (
          select json_agg(encode(newest.segment, 'hex') order by newest.generation, newest.n) from (
            select one.generation, one.n, one.segment from public.call_segments one
            where one.tenant_id = own.tenant_id and one.session_id = own.session_id
            order by one.generation desc, one.n desc limit 64
          ) newest
        ) end,
        'isHandedOver', own.handovers > 0, 'lostProcesses', own.generation - 1 - own.handovers + own.lost_processes,
        'roomNumber', own.room_number, 'gapCount', own.gap_count, 'gapSeconds', own.gap_seconds, 'brought', case when own.url is not null then json_build_object(
          'url', own.url, 'token', encode(own.token, 'hex'), 'agentIdentity', own.identity
        ) end
      )), '[]')
      from own join public.usage_sessions session on session.tenant_id = own.tenant_id and session.id = own.session_id
      left join lateral (
        select * from public.avatars one where one.tenant_id = session.tenant_id and one.id = session.avatar_id
        offset 0 -- so that the planner reads by the primary key: see report_usages
      ) avatar on true
      where own.room in ('exists', 'foreign') and (not own.has_agent or own.url is not null) and not exists (
        select from unnest(p_calls) listed where listed.session_id = own.session_id and listed.generation = own.generation
      ) and not (session.environment = 'test' and session.metadata ->> 'test_outcome' is not distinct from 'never_joined')
    ),
    'move', (
      select coalesce(json_agg(json_build_object(
        'sessionId', own.session_id, 'generation', own.generation, 'roomNumber', own.room_number, 'roomName', own.room_name,
        'mode', own.mode, 'maxSeconds', own.held_seconds
      )), '[]')
      from own join unnest(p_calls) listed on listed.session_id = own.session_id and listed.generation = own.generation
      -- A worker that cannot move calls reports no room number.
      where own.room = 'exists' and listed.state <> 'ended' and listed.room_number <> own.room_number
    ),
    'grow', (
      select coalesce(json_agg(json_build_object(
        'sessionId', own.session_id, 'generation', own.generation, 'roomName', case when own.room = 'exists' then own.room_name end,
        'mode', own.mode, 'maxSeconds', own.held_seconds,
        'limit', case when own.held_seconds < own.max_seconds then 'out_of_credits' else 'session_cap' end
      )), '[]')
      from own join unnest(p_calls) listed on listed.session_id = own.session_id and listed.generation = own.generation
      -- A worker without growth reports no seconds.
      where listed.state <> 'ended' and listed.held_seconds <> own.held_seconds
    ),
    'end', (
      select coalesce(json_agg(json_build_object(
        'sessionId', listed.session_id, 'generation', listed.generation,
        'reason', case when call.generation = listed.generation then session.reason end,
        'closedBy', case when call.generation = listed.generation then session.closed_by end
      )), '[]')
      from unnest(p_calls) listed
      left join public.calls call on call.session_id = listed.session_id
      left join public.usage_sessions session on session.tenant_id = call.tenant_id and session.id = call.session_id
      where not exists (
        select from own where own.session_id = listed.session_id and own.generation = listed.generation
      )
    ),
    'rooms', to_json(p_rooms),
    'turns', p_turns,
    'preloads', (
      select coalesce(json_agg(json_build_object(
        'id', preload.id, 'tenantId', preload.tenant_id, 'avatarId', preload.avatar_id, 'manifest', avatar.cache_manifest_id
      ) order by preload.ends_at desc, preload.id desc), '[]')
      from (
        select * from fleet.avatar_preloads
        where worker_id = p_worker_id and ends_at > clock_timestamp() order by ends_at desc, id desc limit 4
      ) preload
      join public.avatars avatar on avatar.tenant_id = preload.tenant_id and avatar.id = preload.avatar_id
      where avatar.status = 'ready'
    )
  )
$$;
