-- Locks up to `p_count` free slots of workers with a current lease that have what a call needs: the first slot of each worker,
-- then the second of each, so that calls spread. Workers that have reported their voices come first for a call that names
-- one, or a model (can_speak). Lock order: slots (skip locked). A slot that another transaction has just taken and
-- committed is not returned, but stays locked. So the calling function must not wait for counters afterwards.
create function rta.lock_free_slots(p_count integer, p_needs rta.call_needs) returns rta.free_slot[]
language plpgsql as $$
begin
  return array(
    with free as materialized (
      select slot.worker_id, slot.n, worker.features, worker.voices, worker.models
      from fleet.avatar_slots slot
      join fleet.avatar_workers worker
        on worker.id = slot.worker_id and worker.lease_until > clock_timestamp() and slot.n <= worker.slots
      where slot.session_id is null and worker.features @> p_needs.features
        and rta.can_speak(worker.features, worker.voices, worker.models, p_needs.voice_id, p_needs.model)
      order by (p_needs.voice_id is not null or p_needs.model is not null) and worker.voices is null, slot.n, slot.worker_id
      limit p_count
      for no key update of slot skip locked
    )
    select row(worker_id, n, features, voices, models)::rta.free_slot from free order by n, worker_id
  );
end $$;
