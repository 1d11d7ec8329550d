-- The needs of a start. A call of more than 1,800 seconds needs growing holds, unless no live worker has them: then
-- it is granted 1,800 seconds (place_calls). A recorded call needs a worker that records.
create function rta.needs_of_call(p_call rta.call_request) returns rta.call_needs
language sql stable as $$
  select row(
    /* features */ array_remove(array[
      case when p_call.max_seconds > 1800 and exists (
        select from fleet.avatar_workers worker
        where worker.lease_until > clock_timestamp() and 'growth' = any (worker.features)
          and (worker.slots > 0 or 'shared_slots' = any (worker.features))
      ) then 'growth' end,
      case when p_call.recording is not null then 'recording' end
    ], null),
    /* voice_id */ p_call.voice_id,
    /* model */ p_call.model
  )::rta.call_needs
$$;
