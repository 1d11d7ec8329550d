-- The parts of a call that no live worker supports: 'voice', 'model', 'recording'. Also 'model' when no worker has the
-- voice and the model together. A worker that has not reported its voices and models may have them. Without any live
-- worker, the call waits for one.
create function rta.unsupported_by_workers(p_voice_id text, p_model text, p_is_recorded boolean) returns text[]
language sql stable as $$
  select array_remove(array[
    case when not has_voice then 'voice' end, case when not has_model or (has_voice and not has_both) then 'model' end,
    case when p_is_recorded and not has_recorder then 'recording' end
  ], null)
  from (
    select bool_or(voice.is_known) as has_voice, bool_or(model.is_known) as has_model,
      bool_or(voice.is_known and model.is_known) as has_both,
      bool_or('recording' = any (worker.features)) as has_recorder
    from fleet.avatar_workers worker
    cross join lateral (select p_voice_id is null or coalesce(p_voice_id = any (worker.voices), true) as is_known) voice
    cross join lateral (select p_model is null or coalesce(p_model = any (worker.models), true) as is_known) model
    where worker.lease_until > clock_timestamp() and (worker.slots > 0 or 'shared_slots' = any (worker.features))
  ) known
$$;
