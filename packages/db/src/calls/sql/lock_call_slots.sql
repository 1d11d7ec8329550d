-- Locks free slots for a batch of starts: one for each start, and for each voice and model that a start names as many of
-- workers that can speak them (can_speak), and for those that are recorded of workers that record. Those of workers that have reported them come first.
-- Lock order: slots, as in lock_free_slots.
create function rta.lock_call_slots(p_calls rta.call_request[]) returns rta.free_slot[]
language plpgsql as $$
declare
  v_named record;
  v_slots rta.free_slot[] := '{}';
begin
  if exists (select from unnest(p_calls) where voice_id is null and model is null and recording is null) then
    v_slots := rta.lock_free_slots(cardinality(p_calls), '{}');
  end if;
  for v_named in
    select distinct voice_id, model, recording is not null as is_recorded from unnest(p_calls)
    where voice_id is not null or model is not null or recording is not null
  loop
    select v_slots || array(
      with free as materialized (
        select slot.worker_id, slot.n, worker.features, worker.voices, worker.models
        from fleet.avatar_slots slot
        join fleet.avatar_workers worker
          on worker.id = slot.worker_id and worker.lease_until > clock_timestamp() and slot.n <= worker.slots
        where slot.session_id is null
          and rta.can_speak(worker.features, worker.voices, worker.models, v_named.voice_id, v_named.model)
          and (not v_named.is_recorded or 'recording' = any (worker.features))
        order by worker.voices is null, slot.n, slot.worker_id limit cardinality(p_calls)
        for no key update of slot skip locked
      )
      select row(worker_id, n, features, voices, models)::rta.free_slot from free
    ) into v_slots;
  end loop;
  return array(
    select row(worker_id, n, features, voices, models)::rta.free_slot
    from (select distinct on (worker_id, n) * from unnest(v_slots)) slot order by n, worker_id
  );
end $$;
