-- Locks free slots for calls that move to another worker. `p_needs`: the needs of each call; null: it does not move.
-- Returns the slot of each call; null: none of such a worker is free. A call takes a slot of a worker with few other
-- features, so that calls which need them find one. Lock order: slots, as in lock_free_slots.
create function rta.lock_slots_for_moves(p_needs rta.call_needs[]) returns rta.free_slot[]
language plpgsql as $$
declare
  v_needs rta.call_needs;
  v_count integer := (select count(*) from unnest(p_needs) where features is not null);
  v_free rta.free_slot[] := '{}';
  v_slot rta.free_slot;
  v_slots rta.free_slot[] := '{}';
begin
  -- As many slots for the same needs as calls, because calls with other needs can take some of them.
  for v_needs in select distinct features, voice_id, model from unnest(p_needs) where features is not null loop
    v_free := v_free || rta.lock_free_slots(v_count, v_needs);
  end loop;
  for v_at in 1 .. cardinality(p_needs) loop
    v_needs := p_needs[v_at];
    select free.* into v_slot from unnest(v_free) free
    where free.features @> v_needs.features
      and rta.can_speak(free.features, free.voices, free.models, v_needs.voice_id, v_needs.model)
      and (free.worker_id, free.n) not in (select worker_id, n from unnest(v_slots) where worker_id is not null)
    order by ('growth' = any (free.features))::integer + ('recording' = any (free.features))::integer, free.n, free.worker_id
    limit 1;
    v_slots := v_slots || v_slot;
  end loop;
  return v_slots;
end $$;
