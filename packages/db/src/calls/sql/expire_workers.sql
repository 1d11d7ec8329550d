-- Takes away the calls of workers whose lease has ended. A call gets a free slot of another worker, with the next
-- generation. A call moves once; handovers by a worker that stops do not count, and neither does the loss of a worker
-- that never got the call. A call that has lost a process at its worker does not move. A call of more than 1,800
-- seconds moves only to a worker with growing holds, a recorded one only to a worker that records, and one that names
-- a voice or a model only to a worker that has it. A worker that was found lost has no lease from then on
-- (lose_worker). Its calls wait for a free slot until 15 seconds (LEASE_SECONDS) after its last sync, and it keeps
-- them if it syncs again. After that, a call without a free slot ends. A moved or ended call is charged the seconds
-- of both sides (used_by_clock). At last the worker and its slots are deleted; the worker registers again with its
-- next sync. Calls that have ended at a lost worker get no more segments, so their transcripts are due at once.
-- Returns the numbers of moved and ended calls, the rooms of the ended ones, and the number of calls that wait. The
-- function handles at most half as many calls as `p_entry_ids` has. Locked rows are left to the next pass.
--
-- Lock order: the workers, then the sessions (skip locked), their calls and counters (lock_counters), slots. A locked
-- worker is being renewed. Slots come after the counters, because lock_free_slots can lock a slot that a start has just
-- taken; the transaction that ends that call holds its counters and waits for its slot. At last the transcripts (skip
-- locked).
create function rta.expire_workers(
  p_entry_ids text[], p_request_id text, out moved integer, out ended integer, out rooms text[], out waiting integer
)
language plpgsql as $$
declare
  v_workers text[] := array(
    select id from fleet.avatar_workers where lease_until <= clock_timestamp() order by id for update skip locked
  );
  v_call record;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_needs rta.call_needs[] := '{}'; -- for each call, the needs at its next worker; null: it does not move
  v_can_wait boolean[] := '{}'; -- for each call
  v_is_handover boolean[] := '{}'; -- for each call, whether its worker stops, or never got the call
  v_closing rta.closing;
  v_closings rta.closing[] := '{}'; -- for each call, the reason if it ends
  v_ended rta.closing[] := '{}';
  v_slots rta.free_slot[]; -- for each call that moves, its slot
  v_transcript record;
begin
  moved := 0;
  ended := 0;
  rooms := '{}';
  waiting := 0;
  if cardinality(v_workers) = 0 then
    return;
  end if;
  for v_call in
    -- A worker without slots is stopping. A worker of several shards can have no slots here while it goes on, but its
    -- last sync does not name that feature.
    select session, uncounted.is_handover,
      case
        when uncounted.is_handover or call.generation - call.handovers + call.lost_processes = 1 then row(
          /* features */ array_remove(array[
            case when call.max_seconds > 1800 then 'growth' end, case when recording.session_id is not null then 'recording' end
          ], null),
          -- The worker does not speak in the call of an agent.
          /* voice_id */ case when agent.session_id is null then call.input -> 'voice' ->> 'voice_id' end,
          /* model */ case when agent.session_id is null then call.input -> 'llm' ->> 'model' end
        )::rta.call_needs
      end as needs,
      worker.synced_at > v_now - interval '15 seconds' as can_wait
    from fleet.avatar_slots slot
    join fleet.avatar_workers worker on worker.id = slot.worker_id
    join public.usage_sessions session on session.tenant_id = slot.tenant_id and session.id = slot.session_id
    join public.calls call on call.tenant_id = slot.tenant_id and call.session_id = slot.session_id
    -- The sync that hands a call out clears the news of its slot. A resume or a turn makes news only after the start.
    cross join lateral (
      select worker.slots = 0 and 'shared_slots' <> all (worker.features)
        or session.started_at is null and (slot.has_news or call.room = 'create') as is_handover
    ) uncounted
    left join public.call_recordings recording
      on recording.tenant_id = slot.tenant_id and recording.session_id = slot.session_id
    left join public.call_agents agent on agent.tenant_id = slot.tenant_id and agent.session_id = slot.session_id
    where slot.worker_id = any (v_workers) and session.ended_at is null
    order by session.tenant_id, session.id limit cardinality(p_entry_ids) / 2
    for no key update of session skip locked
  loop
    v_needs := array_append(v_needs, v_call.needs);
    v_is_handover := v_is_handover || v_call.is_handover;
    v_can_wait := v_can_wait || coalesce(v_call.can_wait, false);
    v_closing := rta.closing_of(
      v_call.session, 'sweep', 'failed', p_entry_ids[2 * cardinality(v_needs) - 1],
      p_entry_ids[2 * cardinality(v_needs)], p_request_id
    );
    v_closing.charged := rta.used_by_clock(v_call.session, v_now);
    v_closings := v_closings || v_closing;
  end loop;
  if cardinality(v_closings) > 0 then
    perform rta.lock_counters(v_closings);
    v_slots := rta.lock_slots_for_moves(v_needs);
    for v_at in 1 .. cardinality(v_closings) loop
      if v_slots[v_at].worker_id is not null then
        moved := moved + 1;
        perform rta.move_call(
          v_closings[v_at].tenant_id, v_closings[v_at].session_id, v_slots[v_at], v_closings[v_at].charged, v_is_handover[v_at]
        );
      elsif not v_can_wait[v_at] then
        v_ended := v_ended || v_closings[v_at];
      end if;
    end loop;
    ended := cardinality(v_ended);
    if ended > 0 then
      perform rta.close_sessions(v_ended, clock_timestamp());
      rooms := rta.rooms_of(v_ended);
    end if;
  end if;
  waiting := (select count(*) from fleet.avatar_slots where worker_id = any (v_workers) and session_id is not null);
  v_now := date_trunc('milliseconds', clock_timestamp());
  for v_transcript in
    select transcript.tenant_id, transcript.session_id from public.call_transcripts transcript
    -- A range of the index of due transcripts: end_calls lets them wait for eight seconds.
    where coalesce(transcript.leased_until, transcript.due_at) > v_now
      and coalesce(transcript.leased_until, transcript.due_at) <= v_now + interval '8 seconds'
      and transcript.worker_id = any (v_workers) and transcript.lease is null and transcript.attempt_count = 0
    for no key update skip locked
  loop
    update public.call_transcripts set due_at = v_now
    where tenant_id = v_transcript.tenant_id and session_id = v_transcript.session_id;
  end loop;
  delete from fleet.avatar_slots where ctid = any (array(
    select ctid from fleet.avatar_slots where worker_id = any (v_workers) and session_id is null for update skip locked
  ));
  delete from fleet.avatar_workers worker
  where worker.id = any (v_workers) and not exists (select from fleet.avatar_slots where worker_id = worker.id);
end $$;
