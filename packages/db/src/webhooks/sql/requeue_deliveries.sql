-- Makes deliveries pending and due at the same time, so that they are claimed in the order of their events. Their
-- schedules begin anew. A running attempt of a delivery continues. Lock order: the calling function has locked the
-- deliveries.
create function rta.requeue_deliveries(
  p_tenant_id text,
  p_ids text[],
  p_host text, -- the host whose budget they use
  p_now timestamptz
) returns void
language plpgsql as $$
begin
  update public.webhook_deliveries set
    status = 'pending',
    waits = false,
    attempt_count = 0,
    budget_host = p_host,
    next_attempt_at = case when leased_until > p_now then next_attempt_at else p_now end
  where tenant_id = p_tenant_id and id = any (p_ids);
end $$;
