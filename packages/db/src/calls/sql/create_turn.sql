-- Adds a turn to a call, or an interruption (kind 'interrupt'), for the worker of the call. An interruption also drops
-- the turns that no worker has received. Returns the outcome:
--   'written'
--   'not_found'         nothing is written: the caller's lineage has no such call
--   'call_not_running'  nothing is written: the call has ended, or must end
--   'agent'             nothing is written: an agent speaks in the call
--   'old_worker'        nothing is written: the worker of the call takes no turns
--   'no_model'          nothing is written: the worker of the call answers no turns
--   'too_many'          nothing is written: `p_max_waiting` turns are queued
--   'stale'             nothing is written: the caller has changed since its look-up
--   'replayed'          nothing is written: the stored response follows
-- Only 'written' keeps the claim.
--
-- Lock order: the caller (lock_caller), the claim, the call, its turns, its slot.
create function rta.create_turn(
  p_caller rta.caller,
  p_environment text,
  p_turn rta.new_turn,
  p_max_waiting integer,
  p_feature text,        -- the feature of workers that take turns
  p_answer_feature text, -- the feature of workers that also answer them
  p_attempt_id text,     -- of the claim
  p_claim rta.claim      -- null without an Idempotency-Key
) returns table (
  outcome text,
  body_hash bytea,
  response_status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_attempt rta.audit_event; -- the attempt of the claim; no event is written
  v_outcome rta.write_outcome;
  v_now timestamptz;
  v_session public.usage_sessions;
  v_room text;
  v_has_agent boolean;
  v_features text[];
  v_waiting integer;
  v_last integer;
  v_is_covered boolean; -- whether another interruption waits, and no turn after it
  v_refusal text;
begin
  v_attempt.id := p_attempt_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_attempt);
  if v_outcome.kind = 'written' then
    select * into v_session from public.usage_sessions session
    where session.tenant_id = p_caller.tenant_id and session.id = p_turn.session_id
      and session.environment = p_environment and p_caller.id = any (session.lineage);
    select call.room into v_room from public.calls call
    where v_session.id is not null and call.tenant_id = p_caller.tenant_id and call.session_id = p_turn.session_id
    for no key update;
    -- A separate statement with a newer snapshot: it sees an end for whose lock the last one has waited.
    select * into v_session from public.usage_sessions session
    where session.tenant_id = p_caller.tenant_id and session.id = p_turn.session_id;
    v_has_agent := exists (
      select from public.call_agents agent
      where agent.tenant_id = p_caller.tenant_id and agent.session_id = p_turn.session_id
    );
    select worker.features into v_features from fleet.avatar_slots slot
    join fleet.avatar_workers worker on worker.id = slot.worker_id
    where slot.session_id = p_turn.session_id;
    select count(*) filter (where turn.kind <> 'interrupt' and turn.status = 'queued'), max(turn.number),
      count(*) filter (where turn.kind = 'interrupt' and turn.generation is null) > 0
    into v_waiting, v_last, v_is_covered
    from public.call_turns turn
    where turn.tenant_id = p_caller.tenant_id and turn.session_id = p_turn.session_id and turn.ended_at is null;
    v_now := date_trunc('milliseconds', clock_timestamp());
    v_refusal := case
      when v_valid_until <= v_now then 'stale'
      when v_room is null then 'not_found'
      when v_session.ended_at is not null or v_session.must_end or v_session.expires_at <= v_now then 'call_not_running'
      when v_has_agent then 'agent'
      when (p_feature = any (v_features)) is not true then 'old_worker'
      when p_turn.kind = 'answer' and (p_answer_feature = any (v_features)) is not true then 'no_model'
      when p_turn.kind <> 'interrupt' and v_waiting >= p_max_waiting then 'too_many'
    end;
    if v_refusal is not null then
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_attempt);
    else
      if p_turn.kind = 'interrupt' then
        update public.call_turns turn
        set status = 'dropped', text = null, instructions = null, ended_at = v_now, version = turn.version + 1
        where turn.tenant_id = p_caller.tenant_id and turn.session_id = p_turn.session_id
          and turn.ended_at is null and turn.generation is null and turn.kind <> 'interrupt';
      end if;
      if p_turn.kind <> 'interrupt' or not v_is_covered then
        insert into public.call_turns (
          tenant_id, id, session_id, number, kind, text, instructions, interrupts, status, created_at
        ) values (
          p_caller.tenant_id, p_turn.id, p_turn.session_id, coalesce(v_last, 0) + 1, p_turn.kind, p_turn.text,
          p_turn.instructions, p_turn.interrupts, 'queued', p_turn.created_at
        );
      end if;
      update fleet.avatar_slots set has_news = true where session_id = p_turn.session_id;
    end if;
  end if;
  return query select v_outcome.kind, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for;
end $$;
