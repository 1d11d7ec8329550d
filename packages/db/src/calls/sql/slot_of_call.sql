-- The position of the slot that a call gets: the first one that is not taken, of a worker that has what the call needs.
-- Null: no such slot is free.
create function rta.slot_of_call(p_slots rta.free_slot[], p_call rta.call_request, p_taken integer[]) returns integer
language sql stable as $$
  select at::integer from rta.needs_of_call(p_call) needs
  cross join unnest(p_slots) with ordinality slot (worker_id, n, features, voices, models, at)
  where at <> all (p_taken) and slot.features @> needs.features
    and rta.can_speak(slot.features, slot.voices, slot.models, needs.voice_id, needs.model)
  order by (needs.voice_id is not null or needs.model is not null) and slot.voices is null, at limit 1
$$;
