-- Returns which queues have due work, so that an idle worker asks once for all of them. A claim may still find nothing:
-- the tenants of the due jobs may have no free slot. Reads one entry of an index for each queue, by queries of one table
-- each, because Citus plans a query of several tables at each execution.
create function rta.find_due_work()
returns table (jobs boolean, deliveries boolean, transcripts boolean, recordings boolean)
language plpgsql stable as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  -- Ordered, so that one entry of the index is read, instead of the table until a due row.
  jobs := coalesce((
    select coalesce(due.leased_until, due.run_at) from public.jobs due
    order by coalesce(due.leased_until, due.run_at) limit 1
  ) <= v_now, false);
  deliveries := coalesce((
    select coalesce(due.leased_until, due.next_attempt_at) from public.webhook_deliveries due
    where due.status = 'pending' and not due.waits
    order by coalesce(due.leased_until, due.next_attempt_at) limit 1
  ) <= v_now, false) or coalesce((
    select due.recovery_next_at from public.webhook_endpoints due
    where due.recovery_next_at is not null order by due.recovery_next_at limit 1
  ) <= v_now, false);
  transcripts := coalesce((
    select coalesce(due.leased_until, due.due_at) from public.call_transcripts due
    order by coalesce(due.leased_until, due.due_at) limit 1
  ) <= v_now, false);
  recordings := coalesce((
    select coalesce(due.leased_until, due.due_at) from public.call_recordings due
    order by coalesce(due.leased_until, due.due_at) limit 1
  ) <= v_now, false);
  return next;
end $$;
