-- The position of the slot that a call gets: the first one that is not taken, of a worker that can speak what the call names,
-- and can record the call if it is recorded. Null: no such slot is free.
create function rta.slot_of_call(p_slots rta.free_slot[], p_call rta.call_request, p_taken integer[]) returns integer
language sql stable as $$
  select at::integer from unnest(p_slots) with ordinality slot (worker_id, n, features, voices, models, at)
  where at <> all (p_taken) and rta.can_speak(features, voices, models, p_call.voice_id, p_call.model)
    and (p_call.recording is null or 'recording' = any (features))
  order by (p_call.voice_id is not null or p_call.model is not null) and voices is null, at limit 1
$$;
