-- Locks up to `p_count` slots that are free, of workers that have their lease: the first slot of each worker, then the second of
-- each, so that calls spread.
-- Lock order: slots, which are not waited for: those that others have locked are skipped. One that another transaction has just
-- taken, and committed, is not returned, but stays locked. So the calling function waits for no counters after this.
create function rta.lock_free_slots(p_count integer) returns rta.free_slot[]
language plpgsql as $$
begin
  return array(
    with free as materialized (
      select slot.worker_id, slot.n, worker.features, worker.voices, worker.models
      from fleet.avatar_slots slot
      join fleet.avatar_workers worker
        on worker.id = slot.worker_id and worker.lease_until > clock_timestamp() and slot.n <= worker.slots
      where slot.session_id is null
      order by slot.n, slot.worker_id limit p_count
      for no key update of slot skip locked
    )
    select row(worker_id, n, features, voices, models)::rta.free_slot from free order by n, worker_id
  );
end $$;
