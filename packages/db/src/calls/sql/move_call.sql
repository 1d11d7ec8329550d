-- Gives a call the slot of another worker, and its next generation. Reports of the earlier generation no longer count,
-- and seconds do not count until the new worker has both sides. `p_used`: the usage of the call so far.
-- `p_is_handover`: the earlier worker stops, or never got the call, which does not count as a loss. The turns that the
-- earlier worker has received fail: it may have said them, and they must not be said twice. The speech under way is
-- kept as far as it was heard (keep_speaking). Lock order: the call, its turns, the slots. The calling function has
-- locked the session and the new slot.
create function rta.move_call(p_tenant_id text, p_session_id text, p_slot rta.free_slot, p_used bigint, p_is_handover boolean)
returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  update public.usage_sessions set used = p_used, version = version + 1
  where tenant_id = p_tenant_id and id = p_session_id and used < p_used;
  perform rta.keep_speaking(array[p_tenant_id], array[p_session_id]);
  update public.calls set generation = generation + 1, handovers = handovers + p_is_handover::integer, counts_from = null
  where tenant_id = p_tenant_id and session_id = p_session_id;
  update public.call_turns turn
  set status = 'failed', text = null, instructions = null, ended_at = v_now, version = turn.version + 1
  where turn.tenant_id = p_tenant_id and turn.session_id = p_session_id and turn.ended_at is null
    and turn.generation is not null;
  update fleet.avatar_slots set tenant_id = null, session_id = null where session_id = p_session_id;
  update fleet.avatar_slots set tenant_id = p_tenant_id, session_id = p_session_id, has_news = true
  where worker_id = p_slot.worker_id and n = p_slot.n;
end $$;
