-- Decides which requests to open a session are admitted, as if they came one by one, in their order. Only this function
-- decides it. (The look-up of the caller only refuses early a request that cannot fit: see `refuseHold` and
-- `findReachedLimit` of the domain's credits/open.ts.) A request is admitted if every key of its lineage and the
-- account may have one more open session, and if its minimum seconds fit under the cap of every key of its lineage and
-- under the available balance. It gets as many seconds as fit under the caps and the balance. A call gets a slot if more
-- slots are free than tickets are ahead of its ticket, and if one of the free slots belongs to a worker with the voice
-- and the model of the call. Otherwise it is queued. The slot decides whether a call is a conversation, and so its price. While the call is queued, the lower price
-- decides. A refused or queued request takes nothing. Returns the outcome of each request, and the credit micros and
-- sessions that each meter and each account must hold in addition. Writes nothing.
--
-- The calling function has locked the meters and the accounts. So no claim can appear any more: requests with the same
-- claim or token have the same key, and each waits for the meter of that key.
create function rta.admit_sessions(
  p_counters rta.counters,
  p_caller_at integer[],            -- for each request, the position of its caller
  p_valid_until timestamptz[],      -- for each request, until when its caller is valid; null when it is not
  p_requests rta.session_request[],
  p_calls rta.call_request[],       -- null when the requests start no calls
  p_claims rta.claim[],
  p_meters rta.locked_meter[], p_accounts rta.locked_account[], -- of p_counters
  p_queue rta.call_queue,           -- null when the requests start no calls
  out outcomes rta.session_outcome[], out meters_held bigint[], out meters_opened bigint[],
  out accounts_held bigint[], out accounts_opened bigint[]
)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp()); -- after the last wait
  v_request record;
  v_outcome rta.session_outcome;
  v_seconds bigint;
  v_price bigint;
  v_call rta.call_request;
  v_limit integer; -- the limit of the seconds of a call
  v_slot integer; -- the position of the slot; null: the request is queued, or starts no call
  v_slots integer[] := '{}'; -- the slots that are taken
  v_meter integer; v_account integer; -- positions
  v_ahead integer;
  v_aheads integer[] := '{}'; -- the `aheads` of the admitted calls
begin
  meters_held := array_fill(0::bigint, array[coalesce(cardinality(p_meters), 0)]);
  meters_opened := meters_held;
  accounts_held := array_fill(0::bigint, array[coalesce(cardinality(p_accounts), 0)]);
  accounts_opened := accounts_held;
  for v_request in
    select * from rta.requests_to_admit(p_counters.callers, p_caller_at, p_valid_until, p_requests, p_calls, p_claims, v_now)
  loop
    v_outcome := v_request.outcome;
    v_seconds := v_request.max_seconds;
    v_price := v_request.price;
    v_account := v_request.account_at;
    v_slot := null;
    if v_outcome.kind = 'written' and p_queue.size is not null then
      -- An admitted call takes a slot. If it was ahead, it leaves the queue.
      v_ahead := p_queue.aheads[v_request.at];
      v_call := p_calls[v_request.at];
      if v_call.voice_id is not null or v_call.model is not null or v_call.recording is not null then
        v_outcome.unsupported := rta.unsupported_by_workers(v_call.voice_id, v_call.model, v_call.recording is not null);
      end if;
      if cardinality(v_outcome.unsupported) > 0 then
        v_outcome.kind := 'unsupported';
      end if;
      -- `default_limit` is null for a call that needs no permission of the operator.
      v_limit := coalesce(p_accounts[v_account].max_call_seconds, v_call.default_limit);
      if v_call.default_limit is not null and v_call.max_seconds > v_limit then
        v_outcome.kind := 'too_long';
        v_outcome.session_limit := v_limit;
      end if;
      if p_queue.free_slots - cardinality(v_aheads) > v_ahead - (select count(*) from unnest(v_aheads) one where one < v_ahead) then
        v_slot := rta.slot_of_call(p_queue.slots, v_call, v_slots);
      end if;
      v_price := case
        when v_call.conversation_price is null then v_price
        when v_slot is null then least(v_price, v_call.conversation_price)
        when 'conversation' = any ((p_queue.slots[v_slot]).features) then v_call.conversation_price
        else v_price
      end;
    end if;
    if v_outcome.kind = 'written' then
      for v_at in 1 .. cardinality(v_request.meters_at) loop
        v_meter := v_request.meters_at[v_at];
        if p_meters[v_meter].open_sessions + meters_opened[v_meter] >= p_counters.session_limits[v_meter] then
          v_outcome.kind := 'concurrency_limit_reached';
          v_outcome.session_limit := p_counters.session_limits[v_meter];
          v_outcome.limited_by := case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
          exit;
        end if;
        -- `least` skips null: without a cap.
        v_seconds := least(v_seconds, (p_counters.caps[v_meter] - p_meters[v_meter].used - meters_held[v_meter]) / v_price);
        if v_seconds < v_request.min_seconds and v_outcome.kind = 'written' then
          v_outcome.kind := 'spend_limit_exceeded';
          v_outcome.limited_by := case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
        end if;
      end loop;
      -- A reached limit refuses before a cap does.
      if v_outcome.kind <> 'concurrency_limit_reached'
        and p_accounts[v_account].open_sessions + accounts_opened[v_account] >= p_accounts[v_account].session_limit
      then
        v_outcome.kind := 'concurrency_limit_reached';
        v_outcome.session_limit := p_accounts[v_account].session_limit;
        v_outcome.limited_by := 'tenant';
      end if;
      v_seconds := least(v_seconds, (p_accounts[v_account].available - accounts_held[v_account]) / v_price);
      if v_seconds < v_request.min_seconds and v_outcome.kind = 'written' then
        v_outcome.kind := 'insufficient_credits';
      end if;
    end if;
    if v_outcome.kind = 'written' and p_queue.size is not null then
      if v_slot is null then
        v_outcome.kind := 'queued';
      else
        v_aheads := v_aheads || v_ahead;
        v_slots := v_slots || v_slot;
      end if;
    end if;
    v_outcome.price := v_price;
    v_outcome.slot_at := v_slot;
    if v_outcome.kind = 'written' then
      v_outcome.reserved := v_seconds * v_price;
      v_outcome.expires_at := date_trunc('milliseconds', v_now) + make_interval(secs => v_request.start_seconds);
      accounts_held[v_account] := accounts_held[v_account] + v_outcome.reserved;
      accounts_opened[v_account] := accounts_opened[v_account] + 1;
      foreach v_meter in array v_request.meters_at loop
        meters_held[v_meter] := meters_held[v_meter] + v_outcome.reserved;
        meters_opened[v_meter] := meters_opened[v_meter] + 1;
      end loop;
    end if;
    outcomes[v_request.at] := v_outcome;
  end loop;
end $$;
