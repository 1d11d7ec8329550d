-- Writes the reports of a worker about the turns of its calls: see write_reports. A turn moves only forward, and a turn
-- that is over never changes, so a late or repeated report changes nothing. Its texts are erased when it is over.
-- Lock order: the calls by primary key, their turns. The calling function has locked no counters.
create function rta.write_turns(p_worker_id text, p_turns rta.reported_turn[]) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  if cardinality(p_turns) = 0 then
    return;
  end if;
  perform from public.calls call
  where (call.tenant_id, call.session_id) in (
    select turn.tenant_id, turn.session_id
    from unnest(p_turns) reported
    join fleet.avatar_slots slot on slot.session_id = reported.session_id and slot.worker_id = p_worker_id
    join public.call_turns turn on turn.tenant_id = slot.tenant_id and turn.id = reported.turn_id
    where turn.session_id = slot.session_id and turn.ended_at is null and turn.status <> reported.status
  )
  order by call.tenant_id, call.session_id for no key update;
  if not found then
    return;
  end if;
  update public.call_turns turn set
    status = reported.status,
    heard = reported.heard,
    text = case when reported.status = 'speaking' then turn.text end,
    instructions = case when reported.status = 'speaking' then turn.instructions end,
    ended_at = case when reported.status <> 'speaking' then v_now end,
    version = turn.version + 1
  from (select distinct on (turn_id) * from unnest(p_turns)) reported
  join fleet.avatar_slots slot on slot.session_id = reported.session_id and slot.worker_id = p_worker_id
  join public.calls call
    on call.tenant_id = slot.tenant_id and call.session_id = slot.session_id and call.generation = reported.generation
  where turn.tenant_id = slot.tenant_id and turn.id = reported.turn_id and turn.session_id = slot.session_id
    and turn.generation = call.generation and turn.ended_at is null and turn.status <> reported.status
    and reported.status <> 'queued';
end $$;
