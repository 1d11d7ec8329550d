-- Locks free slots for calls that move to another worker. `p_features`: for each call, the features that it needs of a
-- worker, separated by commas; null: it does not move. Returns the slot of each call; null: none with these features is
-- free. A call takes a slot of a worker with few other features, so that calls which need them find one. Lock order:
-- slots, as in lock_free_slots.
create function rta.lock_slots_for_moves(p_features text[]) returns rta.free_slot[]
language plpgsql as $$
declare
  v_needed text;
  v_count integer := (select count(*) from unnest(p_features) features where features is not null);
  v_free rta.free_slot[] := '{}';
  v_slot rta.free_slot;
  v_slots rta.free_slot[] := '{}';
begin
  -- As many slots with the same features as calls, because calls with other features can take some of them.
  for v_needed in select distinct features from unnest(p_features) features where features is not null loop
    v_free := v_free || rta.lock_free_slots(v_count, string_to_array(v_needed, ','));
  end loop;
  for v_at in 1 .. cardinality(p_features) loop
    select free.* into v_slot from unnest(v_free) free
    where free.features @> string_to_array(p_features[v_at], ',')
      and (free.worker_id, free.n) not in (select worker_id, n from unnest(v_slots) where worker_id is not null)
    order by ('growth' = any (free.features))::integer + ('recording' = any (free.features))::integer, free.n, free.worker_id
    limit 1;
    v_slots := v_slots || v_slot;
  end loop;
  return v_slots;
end $$;
