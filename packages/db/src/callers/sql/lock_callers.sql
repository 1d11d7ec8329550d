-- Locks the callers of a batch of creates, and returns for each create until when its caller is valid; null when it is
-- not. See lock_caller. `p_wait` is for a batch of one: the others wait for no lock, so the order of callers does not
-- matter.
create function rta.lock_callers(p_callers rta.caller[], p_caller_at integer[], p_wait boolean)
returns timestamptz[]
language plpgsql as $$
declare
  v_of_callers timestamptz[];
  v_of_creates timestamptz[];
begin
  for v_at in 1 .. cardinality(p_callers) loop
    v_of_callers[v_at] := rta.lock_caller(p_callers[v_at], p_wait);
  end loop;
  for v_at in 1 .. cardinality(p_caller_at) loop
    v_of_creates[v_at] := v_of_callers[p_caller_at[v_at]];
  end loop;
  return v_of_creates;
end $$;
