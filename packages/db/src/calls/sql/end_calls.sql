-- For sessions that end: marks created rooms for deletion and brought rooms as gone, and frees the slots. Erases the
-- renderer's input, because it can be about a person, and the agent with the token that it has brought. Drops waiting
-- turns, and interrupts a turn that is being said. Most sessions are no calls: then nothing is written. A transcript
-- with a receiver becomes due: at once, or after eight seconds, in which its worker can still send segments from before
-- the end (it needs at most six seconds to leave the room). A transcript that is only kept is not due. A transcript
-- without a receiver that is not kept is deleted. Fragments of recordings become due (end_call_recordings). Segments without a transcript
-- are erased. A transcript gets the words that the avatar was saying when its worker was lost.
--
-- Lock order: the agents, the turns and the segments (only functions that have locked the call write them); the
-- transcripts by primary key, with their segments; the recordings (end_call_recordings); the slots by primary key. The
-- calling function has locked the calls (lock_counters).
create function rta.end_calls(p_tenant_ids text[], p_session_ids text[]) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_late timestamptz := v_now + interval '8 seconds';
  v_calls text[];
  v_forgotten text[]; -- the calls whose transcripts have no purpose
  v_lost_tenants text[]; -- the tenants of the calls whose avatar was speaking when its worker was lost
  v_lost_calls text[];
begin
  if cardinality(p_session_ids) = 1 then
    -- A query of one table, whose plan Citus keeps.
    perform from public.calls where tenant_id = p_tenant_ids[1] and session_id = p_session_ids[1];
    if not found then
      return;
    end if;
  end if;
  with ended as (
    update public.calls call set
      room = case call.room when 'foreign' then 'gone' else 'delete' end, input = '{}'
    from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
    where call.tenant_id = session.tenant_id and call.session_id = session.id and call.room in ('create', 'exists', 'foreign')
    returning call.session_id
  )
  select array_agg(session_id) into v_calls from ended;
  if v_calls is not null then
    delete from public.call_agents agent using unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
    where agent.tenant_id = session.tenant_id and agent.session_id = session.id;
    update public.call_turns turn set
      status = case turn.status when 'speaking' then 'interrupted' else 'dropped' end, text = null, instructions = null,
      ended_at = v_now, version = turn.version + 1
    from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
    where turn.tenant_id = session.tenant_id and turn.session_id = session.id and turn.ended_at is null;
    select array_agg(call.tenant_id), array_agg(call.session_id) into v_lost_tenants, v_lost_calls
    from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
    join public.calls call on call.tenant_id = session.tenant_id and call.session_id = session.id and call.speaking is not null
    join fleet.avatar_slots slot on slot.session_id = call.session_id
    join fleet.avatar_workers worker on worker.id = slot.worker_id and worker.lease_until <= v_now;
    perform rta.keep_speaking(v_lost_tenants, v_lost_calls);
    perform rta.erase_histories(p_tenant_ids, p_session_ids);
    perform from public.call_transcripts
    where (tenant_id, session_id) in (select * from unnest(p_tenant_ids, p_session_ids))
    order by tenant_id, session_id for no key update;
    with transcribed as (
      update public.call_transcripts transcript set
        ended_at = v_now,
        due_at = case when transcript.receiver is null then null when transcript.is_complete then v_now else v_late end,
        worker_id = (select slot.worker_id from fleet.avatar_slots slot where slot.session_id = transcript.session_id)
      from unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
      where transcript.tenant_id = session.tenant_id and transcript.session_id = session.id
        and transcript.session_id = any (v_calls)
      returning transcript.session_id, transcript.receiver, transcript.is_kept
    )
    select array_agg(session_id) into v_forgotten from transcribed where receiver is null and not is_kept;
    if v_forgotten is not null then
      delete from public.call_segments segment using unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
      where segment.tenant_id = session.tenant_id and segment.session_id = session.id and session.id = any (v_forgotten);
      delete from public.call_transcripts transcript using unnest(p_tenant_ids, p_session_ids) session (tenant_id, id)
      where transcript.tenant_id = session.tenant_id and transcript.session_id = session.id and session.id = any (v_forgotten);
    end if;
    perform rta.end_call_recordings(p_tenant_ids, p_session_ids, v_now);
    perform from fleet.avatar_slots where session_id = any (v_calls) order by worker_id, n for no key update;
    update fleet.avatar_slots set tenant_id = null, session_id = null, has_news = true where session_id = any (v_calls);
  end if;
end $$;
