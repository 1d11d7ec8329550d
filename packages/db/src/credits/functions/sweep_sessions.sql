-- Closes overdue sessions, of one tenant or of all: each is charged what was reported, and ends as 'released' if it was
-- started, else as 'failed'. Returns how many. Sessions that others have locked are left to them.
-- At most as many as half of `p_entry_ids`, which are the ids of the entries to write.
--
-- Lock order: sessions (skip locked), then their counters (lock_counters). A session whose lease a report has extended since
-- the scan is checked again under its lock, and stays open. A branch for one tenant, and one for all: each has an index. The
-- comparison of rows allows only the index that begins with the tenant; the other one would read the sessions of all.
create function rta.sweep_sessions(p_tenant_id text, p_entry_ids text[], p_request_id text) returns integer
language plpgsql as $$
declare
  v_sessions public.usage_sessions[];
  v_closings rta.closing[];
begin
  if p_tenant_id is null then
    v_sessions := array(
      select overdue from public.usage_sessions overdue
      where ended_at is null and expires_at <= now()
      order by expires_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    );
  else
    v_sessions := array(
      select overdue from public.usage_sessions overdue
      where ended_at is null
        and (tenant_id, expires_at) >= (p_tenant_id, '-infinity') and (tenant_id, expires_at) <= (p_tenant_id, now())
      order by tenant_id, expires_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    );
  end if;
  if cardinality(v_sessions) = 0 then
    return 0;
  end if;

  v_closings := array(
    select rta.closing_of(
      overdue, 'sweep', null, p_entry_ids[2 * at - 1], p_entry_ids[2 * at], p_request_id
    )
    from (select v_sessions[at] as overdue, at from generate_subscripts(v_sessions, 1) at) overdue
  );
  perform rta.lock_counters(v_closings);
  perform rta.close_sessions(v_closings, clock_timestamp());
  return cardinality(v_closings);
end $$;
