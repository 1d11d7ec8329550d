-- Writes the ticket of a request that waits for a slot: a new ticket, or the poll of an existing one. Returns false and
-- writes nothing when its tenant has 100 tickets. `p_turn`: the present turn. A new ticket has that turn, or the one
-- after the turn of the tenant's last ticket. Lock order: the ticket. The calling function has locked the meter of its
-- key.
create function rta.write_ticket(
  p_caller rta.charged_caller,
  p_call rta.call_request,
  p_ticket_id text,
  p_turn bigint
) returns boolean
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_others integer;
  v_last_turn bigint;
begin
  select count(*), max(turn) into v_others, v_last_turn from public.call_tickets
  where tenant_id = p_caller.tenant_id and id <> p_ticket_id and polled_at > v_now - interval '6 seconds';
  if v_others >= 100 then
    return false;
  end if;
  insert into public.call_tickets as ticket (tenant_id, id, api_key_id, fingerprint, turn, polled_at, test_polls)
  values (
    p_caller.tenant_id, p_ticket_id, p_caller.api_key_id, p_call.fingerprint, greatest(p_turn, v_last_turn + 1), v_now,
    case when p_call.is_queued then 1 end
  )
  on conflict (tenant_id, id) do update
    set polled_at = excluded.polled_at, test_polls = ticket.test_polls + excluded.test_polls;
  return true;
end $$;
