-- Makes deliveries pending and due, all at one time, so that they are claimed in the order in which they happened. Their schedule
-- begins anew. One that a worker holds is left to that attempt.
-- Lock order: the calling function has locked the deliveries.
create function rta.requeue_deliveries(p_tenant_id text, p_ids text[]) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  update public.webhook_deliveries set
    status = 'pending',
    waits = false,
    attempt_count = 0,
    next_attempt_at = case when leased_until > v_now then next_attempt_at else v_now end
  where tenant_id = p_tenant_id and id = any (p_ids);
end $$;
