-- Closes overdue sessions, of one tenant or of all. Each is charged the reported usage, and ends as 'released' if it
-- was started, else as 'failed'. Returns how many it has closed, and how many it has visited: those whose sweep is due.
-- A session whose lease a report has extended is not overdue: its sweep is postponed until the end of the lease. Locked
-- sessions are skipped. Visits at most half as many sessions as `p_entry_ids` has, which are the ids of the entries to
-- write.
--
-- Lock order: sessions (skip locked), then their counters (lock_counters). A session is read under its lock. The
-- branches for one tenant and for all tenants use different indexes. The comparison of rows allows only the index that
-- begins with the tenant; the other index would read the sessions of all tenants. With a condition on `expires_at`, the
-- server would read all sessions of the tenant.
create function rta.sweep_sessions(
  p_tenant_id text,
  p_entry_ids text[],
  p_request_id text,
  out closed integer,
  out visited integer
)
language plpgsql as $$
declare
  v_due public.usage_sessions[];
  v_sessions public.usage_sessions[];
  v_closings rta.closing[];
begin
  if p_tenant_id is null then
    select array(
      select due from public.usage_sessions due
      where ended_at is null and sweep_at <= now()
      order by sweep_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    ) into v_due;
  else
    select array(
      select due from public.usage_sessions due
      where ended_at is null
        and (tenant_id, sweep_at) >= (p_tenant_id, '-infinity') and (tenant_id, sweep_at) <= (p_tenant_id, now())
      order by tenant_id, sweep_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    ) into v_due;
  end if;
  v_sessions := array(
    select v_due[at] from generate_subscripts(v_due, 1) at where v_due[at].expires_at <= now() order by at
  );
  visited := cardinality(v_due);
  closed := cardinality(v_sessions);
  if closed < visited then
    -- The trigger of the migration 0027 moves `sweep_at`.
    update public.usage_sessions session set expires_at = session.expires_at
    from unnest(v_due) due
    where session.tenant_id = due.tenant_id and session.id = due.id and due.expires_at > now();
  end if;
  if closed = 0 then
    return;
  end if;

  v_closings := array(
    select rta.closing_of(
      overdue, 'sweep', null, p_entry_ids[2 * at - 1], p_entry_ids[2 * at], p_request_id
    )
    from (select v_sessions[at] as overdue, at from generate_subscripts(v_sessions, 1) at) overdue
  );
  perform rta.lock_counters(v_closings);
  perform rta.close_sessions(v_closings, clock_timestamp());
end $$;
