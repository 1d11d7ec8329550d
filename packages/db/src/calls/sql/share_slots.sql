-- Gives a worker that several shards share `p_slots` slots in this shard, including those with a call. The free slots
-- have the lowest numbers without a call, so no free slot is above `p_slots` (lock_free_slots). Returns the worker's
-- number of slots afterwards, which is above `p_slots` while more calls have or take slots. The worker offers its other
-- slots in other shards. `waiting`: the number of calls that wait here for a slot. Lock order: slots (skip locked).
create function rta.share_slots(p_worker_id text, p_slots integer) returns json
language plpgsql as $$
declare
  v_taken integer[] := array(
    select n from fleet.avatar_slots where worker_id = p_worker_id and session_id is not null
  );
  v_free integer[] := array(
    select n from generate_series(1, p_slots) n where n <> all (v_taken)
    order by n limit greatest(0, p_slots - cardinality(v_taken))
  );
begin
  delete from fleet.avatar_slots slot
  where slot.worker_id = p_worker_id and slot.n in (
    select free.n from fleet.avatar_slots free
    where free.worker_id = p_worker_id and free.session_id is null and free.n <> all (v_free)
    for update skip locked
  );
  insert into fleet.avatar_slots (worker_id, n) select p_worker_id, n from unnest(v_free) n on conflict do nothing;
  return json_build_object(
    'slots', (select count(*) from fleet.avatar_slots where worker_id = p_worker_id),
    'waiting', (
      select count(*) from public.call_tickets where polled_at > clock_timestamp() - interval '6 seconds'
    )
  );
end $$;
