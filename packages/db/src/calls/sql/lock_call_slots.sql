-- Locks free slots for a batch of starts: for all starts with the same needs as many as the batch has starts, because
-- starts with other needs can take some of them. Lock order: slots, as in lock_free_slots.
create function rta.lock_call_slots(p_calls rta.call_request[]) returns rta.free_slot[]
language plpgsql as $$
declare
  v_needs rta.call_needs;
  v_slots rta.free_slot[] := '{}';
begin
  for v_needs in
    select distinct needs.features, needs.voice_id, needs.model
    from unnest(p_calls) call cross join lateral rta.needs_of_call(call) needs
  loop
    v_slots := v_slots || rta.lock_free_slots(cardinality(p_calls), v_needs);
  end loop;
  return array(
    select row(worker_id, n, features, voices, models)::rta.free_slot
    from (select distinct on (worker_id, n) * from unnest(v_slots)) slot order by n, worker_id
  );
end $$;
