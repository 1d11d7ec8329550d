-- Gives a worker the turns of its started calls that it does not list, at most `p_limit`. Returns them in their order,
-- as JSON; null without any. A turn that a worker has received belongs to that generation of the call; the worker of
-- the next generation does not get it. Lock order: the calls (skip locked), their turns. A skipped call has news for
-- the next sync. A wait for counters under these locks could deadlock, so the calling function has locked the counters
-- before.
create function rta.hand_out_turns(
  p_worker_id text,
  p_calls rta.reported_call[],
  p_turns rta.reported_turn[],
  p_limit integer
) returns json
language plpgsql as $$
declare
  v_tenant_ids text[];
  v_session_ids text[];
  v_generations integer[];
  v_turns json;
begin
  select array_agg(locked.tenant_id), array_agg(locked.session_id), array_agg(locked.generation)
  into v_tenant_ids, v_session_ids, v_generations
  from (
    select call.tenant_id, call.session_id, call.generation
    from public.calls call
    join fleet.avatar_slots slot
      on slot.worker_id = p_worker_id and slot.tenant_id = call.tenant_id and slot.session_id = call.session_id
    join unnest(p_calls) listed
      on listed.session_id = call.session_id and listed.generation = call.generation and listed.state = 'started'
    where exists (
      select from public.call_turns turn
      where turn.tenant_id = call.tenant_id and turn.session_id = call.session_id and turn.ended_at is null
        and not exists (select from unnest(p_turns) known where known.turn_id = turn.id)
    )
    for no key update of call skip locked
  ) locked;
  if v_session_ids is null then
    return null;
  end if;
  -- A separate statement with a newer snapshot, so that turns that were dropped before the lock are not handed out.
  with due as materialized (
    select turn.tenant_id, turn.id, locked.generation
    from unnest(v_tenant_ids, v_session_ids, v_generations) locked (tenant_id, session_id, generation)
    join public.call_turns turn on turn.tenant_id = locked.tenant_id and turn.session_id = locked.session_id
    where turn.ended_at is null and (turn.generation is null or turn.generation = locked.generation)
      and not exists (select from unnest(p_turns) known where known.turn_id = turn.id)
    order by turn.number, turn.session_id limit p_limit
  ), given as (
    update public.call_turns turn set generation = due.generation
    from due where turn.tenant_id = due.tenant_id and turn.id = due.id
    returning turn.*
  )
  select json_agg(json_build_object(
    'turnId', given.id, 'sessionId', given.session_id, 'generation', given.generation, 'kind', given.kind, 'text', given.text,
    'instructions', given.instructions, 'interrupt', given.interrupts
  ) order by given.number, given.session_id) into v_turns from given;
  return v_turns;
end $$;
