-- Ends calls that must end (must_end), and calls that have used up their hold by the clock. Charges them the seconds of
-- both sides (used_by_clock). Also frees the slots of sessions that a function of an earlier version has ended, and
-- erases their agents, turns and segments. Deletes tickets that are no longer polled, and turns that ended an hour ago.
-- Returns the number of calls that it has ended, which is at most half of `p_entry_ids`, and their rooms.
--
-- The worker ends a call by itself when its seconds are over. The clock here is three seconds later, so that the
-- worker's farewell comes first. The sweep ends a call that no worker reports. A test ends its call after five seconds
-- (`worker_lost`).
--
-- Lock order: the sessions (skip locked), their calls and counters (lock_counters), their slots, then agents, turns and tickets (skip locked). A
-- start waits for its ticket while it holds its counters, so no ticket may be locked before them.
create function rta.end_due_calls(p_entry_ids text[], p_request_id text, out ended integer, out rooms text[])
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_tenant_ids text[];
  v_session_ids text[];
  v_reasons text[];
  v_call record;
  v_session public.usage_sessions;
  v_closing rta.closing;
  v_closings rta.closing[] := '{}';
  v_ended public.usage_sessions[] := '{}';
  v_spoken record;
begin
  ended := 0;
  rooms := '{}';
  select array_agg(tenant_id), array_agg(session_id), array_agg(reason) into v_tenant_ids, v_session_ids, v_reasons
  from rta.due_calls(v_now, cardinality(p_entry_ids) / 2);
  for v_call in
    select session, due.reason from unnest(v_tenant_ids, v_session_ids, v_reasons) due (tenant_id, session_id, reason)
    join public.usage_sessions session on session.tenant_id = due.tenant_id and session.id = due.session_id
    for no key update of session skip locked
  loop
    v_session := v_call.session;
    if v_session.ended_at is not null then
      v_ended := v_ended || v_session;
      continue;
    end if;
    -- Its hold has grown since it was read.
    continue when v_call.reason in ('session_cap', 'out_of_credits')
      and rta.held_seconds_left(v_session.reserved, v_session.used, v_session.price, (
        select call.counts_from from public.calls call
        where call.tenant_id = v_session.tenant_id and call.session_id = v_session.id
      ), v_now) > -3;
    v_closing := rta.closing_of(
      v_session, 'sweep', v_call.reason, p_entry_ids[2 * ended + 1], p_entry_ids[2 * ended + 2], p_request_id, v_now, false,
      rta.used_by_clock(v_session, v_now)
    );
    if v_call.reason = 'failed' then
      v_closing.charged := v_session.used;
    end if;
    v_closings := v_closings || v_closing;
    ended := ended + 1;
  end loop;
  if ended > 0 then
    perform rta.lock_counters(v_closings);
    perform rta.close_sessions(v_closings, v_now);
    rooms := rta.rooms_of(v_closings);
  end if;
  perform rta.end_calls(
    array(select one.tenant_id from unnest(v_ended) one), array(select one.id from unnest(v_ended) one)
  );
  delete from public.call_agents where ctid = any (array(
    select agent.ctid from public.call_agents agent where not exists (
      select from public.usage_sessions session
      where session.tenant_id = agent.tenant_id and session.id = agent.session_id and session.ended_at is null
    ) for update skip locked
  ));
  delete from public.call_turns where ctid = any (array(
    select turn.ctid from public.call_turns turn where turn.ended_at <= v_now - interval '1 hour'
    order by turn.ended_at limit 1000 for update skip locked
  ));
  delete from public.call_turns where ctid = any (array(
    select turn.ctid from public.call_turns turn where turn.ended_at is null and not exists (
      select from public.usage_sessions session
      where session.tenant_id = turn.tenant_id and session.id = turn.session_id and session.ended_at is null
    ) for update skip locked
  ));
  for v_spoken in
    select call.tenant_id, call.session_id from public.calls call
    where call.has_history and call.room in ('delete', 'gone') limit 100
    for no key update skip locked
  loop
    perform rta.erase_histories(array[v_spoken.tenant_id], array[v_spoken.session_id]);
  end loop;
  delete from public.call_tickets where ctid = any (array(
    select ctid from public.call_tickets where polled_at <= v_now - interval '6 seconds' for update skip locked
  ));
end $$;
