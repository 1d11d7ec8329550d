-- Gives each admitted call its slot, writes the call, and deletes its ticket. Writes a ticket for each queued request.
-- Returns the outcomes with the values that only the write knows: the response fields of calls, and the places in the
-- queue. Lock order: the slots, which the calling function has locked (queue_of_calls), then the tickets. The tickets
-- of a key are written under the lock on its meter.
create function rta.place_calls(
  p_callers rta.charged_caller[],
  p_caller_at integer[],          -- for each request, the position of its caller
  p_requests rta.session_request[],
  p_calls rta.call_request[],     -- null: the requests start no calls
  p_queue rta.call_queue,
  p_outcomes rta.session_outcome[]
) returns rta.session_outcome[]
language plpgsql as $$
declare
  v_aheads integer[] := array(
    select p_queue.aheads[at] from generate_subscripts(p_outcomes, 1) at where p_outcomes[at].kind = 'written'
  );
  v_size integer := p_queue.size - (select count(*) from unnest(v_aheads) ahead where ahead < p_queue.size);
  v_caller rta.charged_caller;
  v_call rta.call_request;
  v_slot rta.free_slot;
  v_seconds integer; -- the maximum length; at a worker without the feature, a hold does not grow
  v_outcome rta.session_outcome;
  v_is_kept boolean;
begin
  if p_calls is null then
    return p_outcomes;
  end if;
  for v_at in 1 .. cardinality(p_outcomes) loop
    v_outcome := p_outcomes[v_at];
    continue when v_outcome.kind not in ('written', 'queued');
    select * into v_caller from unnest(p_callers) where caller_at = p_caller_at[v_at];
    v_call := p_calls[v_at];
    if v_outcome.kind = 'written' then
      v_slot := p_queue.slots[v_outcome.slot_at];
      v_seconds := case when 'growth' = any (v_slot.features) then v_call.max_seconds else least(v_call.max_seconds, 1800) end;
      -- A brought room exists already, so its call is assigned at once.
      update fleet.avatar_slots
      set tenant_id = v_caller.tenant_id, session_id = p_requests[v_at].id, has_news = has_news or v_call.join_url is not null
      where worker_id = v_slot.worker_id and n = v_slot.n;
      insert into public.calls (
        tenant_id, session_id, room_name, room, mode, input, max_seconds
      ) values (
        v_caller.tenant_id, p_requests[v_at].id, v_call.room_name,
        case when v_call.join_url is null then 'create' else 'foreign' end, v_call.mode, v_call.input, v_seconds
      );
      if v_call.join_url is not null or v_call.awaits_agent then
        insert into public.call_agents (tenant_id, session_id, created_at, url, token, digest, identity)
        values (
          v_caller.tenant_id, p_requests[v_at].id, date_trunc('milliseconds', clock_timestamp()),
          v_call.join_url, v_call.join_token, v_call.token_digest, v_call.agent_identity
        );
      end if;
      v_is_kept := exists (
        select from public.tenant_settings settings
        where settings.tenant_id = v_caller.tenant_id and settings.environment = v_caller.environment and settings.keeps_transcripts
      );
      if v_call.transcript is not null or v_is_kept then
        insert into public.call_transcripts (tenant_id, session_id, receiver, is_kept, due_at)
        values (
          v_caller.tenant_id, p_requests[v_at].id, v_call.transcript, v_is_kept,
          date_trunc('milliseconds', clock_timestamp()) + interval '10 minutes'
        );
      end if;
      if v_call.recording is not null then
        perform rta.insert_recordings(
          v_caller.tenant_id, p_requests[v_at].id, v_caller.environment, p_requests[v_at].created_at, v_call.recording
        );
      end if;
      if v_call.has_connection_history then
        insert into public.connection_histories (tenant_id, session_id, updated_at)
        values (v_caller.tenant_id, p_requests[v_at].id, date_trunc('milliseconds', clock_timestamp()));
      end if;
      delete from public.call_tickets where tenant_id = v_caller.tenant_id and id = p_queue.ticket_ids[v_at];
      v_outcome.response_fields := json_build_object(
        'reservedCreditMicros', v_outcome.reserved, 'priceCreditMicrosPerSecond', v_outcome.price,
        'expiresAt', v_outcome.expires_at, 'features', v_slot.features,
        'longestSeconds', case when v_seconds > 1800 then v_seconds end
      );
    else
      v_outcome.ticket_id := coalesce(p_queue.ticket_ids[v_at], v_call.new_ticket_id);
      if not rta.write_ticket(v_caller, v_call, v_outcome.ticket_id, p_queue.turn) then
        v_outcome.kind := 'too_many_tickets';
        p_outcomes[v_at] := v_outcome;
        continue;
      end if;
      if p_queue.aheads[v_at] < p_queue.size then
        v_outcome.queue_position := p_queue.aheads[v_at] + 1
          - (select count(*) from unnest(v_aheads) ahead where ahead < p_queue.aheads[v_at]);
      else
        v_size := v_size + 1;
        v_outcome.queue_position := v_size;
      end if;
      v_outcome.queue_size := v_size;
    end if;
    p_outcomes[v_at] := v_outcome;
  end loop;
  return p_outcomes;
end $$;
