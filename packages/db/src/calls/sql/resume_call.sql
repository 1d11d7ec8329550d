-- Gives a call of the caller's lineage its next room, which must then be created: see confirm_room. Two requests for
-- the same number get the same room. With an Idempotency-Key, at most once. Returns:
--   'written'   the call has the room `p_room_name`
--   'replayed'  nothing is written: a response is stored
--   'stale'     nothing is written: the caller or the call has changed since its look-up
--
-- Lock order: the caller (lock_caller), the session, the call, the claim.
create function rta.resume_call(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_room_number integer,
  p_room_name text,
  p_claim rta.claim    -- null: no Idempotency-Key
) returns text
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_session public.usage_sessions;
  v_call public.calls;
  v_now timestamptz;
  v_is_resumable boolean;
  v_is_ended boolean; -- whether its key or an ancestor has ended
  v_kind text;
  v_outcome rta.session_change_outcome;
begin
  select session.* into v_session from public.usage_sessions session
  where v_valid_until is not null and session.tenant_id = p_caller.tenant_id and session.environment = p_environment
    and session.id = p_session_id and p_caller.id = any (session.lineage)
  for no key update of session;
  select call.* into v_call from public.calls call
  where call.tenant_id = v_session.tenant_id and call.session_id = v_session.id
  for no key update of call;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_is_resumable := v_call.room_number in (p_room_number - 1, p_room_number) and rta.can_resume(v_session, v_now);
  v_is_ended := exists (
    select from rta.ended_keys(array[v_session.tenant_id], array[v_session.api_key_id], array[v_session.environment])
  );
  v_kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    -- See change_outcomes.
    when exists (
      select from public.idempotency_claims claim
      where claim.tenant_id = p_caller.tenant_id and claim.caller_id = p_caller.id and claim.request = p_claim.request
        and claim.idempotency_key = p_claim.idempotency_key and now() - claim.created_at < interval '24 hours'
    ) then 'replayed'
    when v_is_resumable is not true or v_is_ended then 'stale'
    else 'written'
  end;
  if v_kind = 'written' then
    update public.calls set room_number = p_room_number, room_name = p_room_name, room = 'create'
    where tenant_id = v_call.tenant_id and session_id = v_call.session_id and room_number < p_room_number;
    if p_claim.request is not null then
      v_outcome.kind := 'written';
      v_outcome.etag := p_claim.etag;
      perform rta.store_session_changes(array[p_caller], array[1], array[p_session_id], array[p_claim], array[v_outcome]);
    end if;
  end if;
  return v_kind;
end $$;
