-- Ends a call of the caller's lineage at once (used_by_clock), or gives up a ticket. An unknown call, a call of another
-- lineage, or an ended call is not an error, and nothing changes. With `p_is_away`, the call goes on if the person can
-- resume it; its worker ends it after a while. With an Idempotency-Key, at most once. Returns one row, whose `kind` is:
--   'written'   `has_ended`: whether a call has ended now; `room_name`: its room, to be deleted, if it is ours
--   'replayed'  nothing is written: the response is stored, for the body with `body_hash`
--   'stale'     nothing is written: the caller has changed since its look-up
--
-- Lock order: the caller (lock_caller), the session, the call and its counters (lock_counters), its slot, the ticket, the claim.
create function rta.release_call(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,   -- null: a ticket
  p_ticket_id text,    -- null: a call
  p_reason text,
  p_is_away boolean,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_claim rta.claim    -- null: no Idempotency-Key
) returns table (kind text, has_ended boolean, room_name text, body_hash bytea)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_now timestamptz;
  v_closing rta.closing;
  v_outcome rta.session_change_outcome;
  v_goes_on boolean; -- null: not a call
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select session.* into v_session from public.usage_sessions session
  where v_valid_until is not null and session.tenant_id = p_caller.tenant_id and session.environment = p_environment
    and session.id = p_session_id and p_caller.id = any (session.lineage)
    and exists (
      select from public.calls call where call.tenant_id = session.tenant_id and call.session_id = session.id
    )
  for no key update of session;
  -- Checked here, not by the query: see report_usages.
  if v_session.ended_at is not null then
    v_session := null;
  end if;
  if v_session.id is not null then
    v_closing := rta.closing_of(v_session, p_caller.id, p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id);
    perform rta.lock_counters(array[v_closing]);
  end if;
  v_now := date_trunc('milliseconds', clock_timestamp());
  -- See change_outcomes.
  body_hash := (
    select claim.body_hash from public.idempotency_claims claim
    where claim.tenant_id = p_caller.tenant_id and claim.caller_id = p_caller.id and claim.request = p_claim.request
      and claim.idempotency_key = p_claim.idempotency_key and now() - claim.created_at < interval '24 hours'
  );
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when body_hash is not null then 'replayed'
    else 'written'
  end;
  v_goes_on := kind = 'written' and p_is_away and rta.can_resume(v_session, v_now);
  has_ended := kind = 'written' and v_session.id is not null and v_goes_on is not true;
  if kind = 'written' then
    if has_ended then
      v_closing := rta.closing_of(
        v_session, p_caller.id, p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id, v_now, false,
        rta.used_by_clock(v_session, v_now)
      );
      perform rta.close_sessions(array[v_closing], v_now);
      room_name := (rta.rooms_of(array[v_closing]))[1];
    end if;
    delete from public.call_tickets ticket using public.api_keys key
    where ticket.tenant_id = p_caller.tenant_id and ticket.id = p_ticket_id
      and key.tenant_id = ticket.tenant_id and key.id = ticket.api_key_id and key.environment = p_environment
      and p_caller.id = any (key.lineage || key.id);
    if p_claim.request is not null then
      v_outcome.kind := 'written';
      v_outcome.etag := p_claim.etag;
      perform rta.store_session_changes(array[p_caller], array[1], array[p_settle_entry_id], array[p_claim], array[v_outcome]);
    end if;
  end if;
  return next;
end $$;
