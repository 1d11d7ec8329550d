-- Gives a call the slot of another worker, and its next generation: reports of the earlier one count no more.
-- Lock order: the call, the slots. The calling function has locked the session and the new slot.
create function rta.move_call(p_tenant_id text, p_session_id text, p_slot rta.free_slot) returns void
language plpgsql as $$
begin
  update public.calls set generation = generation + 1 where tenant_id = p_tenant_id and session_id = p_session_id;
  update fleet.avatar_slots set tenant_id = null, session_id = null where session_id = p_session_id;
  update fleet.avatar_slots set tenant_id = p_tenant_id, session_id = p_session_id, has_news = true
  where worker_id = p_slot.worker_id and n = p_slot.n;
end $$;
