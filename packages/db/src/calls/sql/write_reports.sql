-- Writes the reports of a worker about its calls: see sync_worker. Returns the rooms of the calls that it closes; null
-- for a brought room. The seconds of a call count (`counts_from`) from its first report in the state `started`, but not
-- from before the worker saw both sides, because it rounds its seconds up. They stop with a report in an earlier state:
-- its worker joins again, or the person is away and is not charged. After more than three seconds without a sync
-- (`p_silent_seconds`), a worker may have seen fewer seconds than the clock: the start moves to the seconds that it
-- reports, by at most this time. Absences only grow, so a late or repeated report changes nothing.
--
-- Lock order: the sessions by primary key, their calls, the calls with usage and their sums (write_usage), those with
-- turns (write_turns), those that end with their counters (lock_counters), their slots. The calling function has locked
-- the worker, so nothing else writes `counts_from` meanwhile.
create function rta.write_reports(
  p_worker_id text,
  p_silent_seconds double precision, -- since the last sync of the worker; null: this is its first
  p_calls rta.reported_call[],
  p_usage rta.reported_usage[],
  p_turns rta.reported_turn[],
  p_lease_seconds integer,
  p_entry_ids text[],
  p_request_id text
) returns text[]
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_report record;
  v_session public.usage_sessions;
  v_closing rta.closing;
  v_closings rta.closing[] := '{}';
  v_tenant_ids text[] := '{}';      -- the tenants of the calls that go on
  v_session_ids text[] := '{}';
  v_counts_from timestamptz[] := '{}';
  v_seen_from timestamptz;
  v_gap_counts integer[] := '{}';
  v_gap_seconds integer[] := '{}';
  v_lost_processes integer[] := '{}';
  v_rooms text[] := '{}';
begin
  for v_report in
    select session, call.counts_from, report.state, report.used_seconds, report.reason, report.gap_count, report.gap_seconds, report.lost_processes,
      case when call.room <> 'foreign' then call.room_name end as room_name
    from (select distinct on (session_id, generation) * from unnest(p_calls)) report
    join fleet.avatar_slots slot on slot.session_id = report.session_id and slot.worker_id = p_worker_id
    join public.calls call
      on call.tenant_id = slot.tenant_id and call.session_id = slot.session_id and call.generation = report.generation
    join public.usage_sessions session on session.tenant_id = slot.tenant_id and session.id = slot.session_id
    where report.state = 'ended' or report.lost_processes > call.lost_processes
      or report.state = 'started' and (call.counts_from is null or p_silent_seconds > 3)
      or report.state in ('joining', 'joined') and call.counts_from is not null
      or (report.state = 'started' or session.started_at is not null)
        and session.expires_at <= v_now + make_interval(secs => p_lease_seconds - 10)
    order by session.tenant_id, session.id
    for no key update of session
  loop
    v_session := v_report.session;
    -- Checked here, not by the query: see report_usages.
    continue when v_session.ended_at is not null or v_session.expires_at <= v_now;
    if v_report.state = 'started' or v_report.used_seconds > 0 then
      v_session := rta.report_call(v_session, v_report.used_seconds, p_lease_seconds, v_now);
    end if;
    if v_report.state <> 'ended' then
      v_tenant_ids := v_tenant_ids || v_session.tenant_id;
      v_session_ids := v_session_ids || v_session.id;
      v_seen_from := v_now - make_interval(
        secs => greatest(least(v_report.used_seconds, v_session.reserved / v_session.price) - 1, 0)
      );
      v_counts_from := v_counts_from || case
        when v_report.state <> 'started' then null
        when p_silent_seconds > 3 then greatest(
          v_report.counts_from, least(v_seen_from, v_report.counts_from + make_interval(secs => p_silent_seconds))
        )
        else coalesce(v_report.counts_from, v_seen_from)
      end;
      v_gap_counts := v_gap_counts || v_report.gap_count;
      v_gap_seconds := v_gap_seconds || v_report.gap_seconds;
      v_lost_processes := v_lost_processes || v_report.lost_processes;
    end if;
    if v_report.state = 'ended' then
      v_closing := rta.closing_of(
        v_session, 'sweep', coalesce(v_report.reason, 'failed'),
        p_entry_ids[2 * cardinality(v_rooms) + 1], p_entry_ids[2 * cardinality(v_rooms) + 2], p_request_id
      );
      v_closing.rest := 'release';
      v_closings := v_closings || v_closing;
      v_rooms := v_rooms || v_report.room_name;
    end if;
  end loop;
  if cardinality(v_session_ids) > 0 then
    update public.calls call set counts_from = counted.counts_from,
      gap_count = greatest(call.gap_count, counted.gap_count), gap_seconds = greatest(call.gap_seconds, counted.gap_seconds),
      lost_processes = greatest(call.lost_processes, counted.lost_processes)
    from unnest(v_tenant_ids, v_session_ids, v_counts_from, v_gap_counts, v_gap_seconds, v_lost_processes)
      counted (tenant_id, session_id, counts_from, gap_count, gap_seconds, lost_processes)
    where call.tenant_id = counted.tenant_id and call.session_id = counted.session_id and (
      call.counts_from is distinct from counted.counts_from
      or call.gap_count < counted.gap_count or call.gap_seconds < counted.gap_seconds
      or call.lost_processes < counted.lost_processes
    );
  end if;
  perform rta.write_usage(p_usage);
  -- Before the end of the call, which drops its turns.
  perform rta.write_turns(p_worker_id, p_turns);
  if cardinality(v_closings) > 0 then
    perform rta.lock_counters(v_closings);
    perform rta.close_sessions(v_closings, clock_timestamp());
  end if;
  return v_rooms;
end $$;
