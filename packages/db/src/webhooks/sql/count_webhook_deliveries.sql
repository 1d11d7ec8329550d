-- The state of the queue: the deliveries that are due, those that are pending, and the endpoints that are disabled,
-- each counted up to 10,000; and for how many seconds the oldest delivery has been due, among the endpoints that have
-- no delivery under way and no pause, 0 without one.
create function rta.count_webhook_deliveries()
returns table (due bigint, pending bigint, oldest_due_seconds integer, disabled_endpoints bigint)
language plpgsql stable as $$
declare
  v_oldest timestamptz := (
    select min(due_at) from rta.endpoints_to_serve(now(), 1000, 1, 1000000) where is_enabled
  );
begin
  return query select
    (
      select count(*) from (
        select from public.webhook_deliveries
        where status = 'pending' and not waits and coalesce(leased_until, next_attempt_at) <= now()
        order by coalesce(leased_until, next_attempt_at) limit 10000
      ) due
    ),
    (
      select count(*) from (
        select from public.webhook_deliveries where status = 'pending'
        order by tenant_id, endpoint_id, target_id, sequence limit 10000
      ) pending
    ),
    coalesce(floor(extract(epoch from now() - v_oldest)), 0)::integer,
    (
      select count(*) from (select from public.webhook_endpoints where status = 'disabled' limit 10000) disabled
    );
end $$;
