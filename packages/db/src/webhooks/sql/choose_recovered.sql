-- Locks the oldest deliveries of an endpoint, up to `p_limit`, that a recovery sends again. Returns their ids in
-- ascending order; null without any. Locked deliveries are being sent or swept, and are skipped. Lock order: deliveries
-- (skip locked).
create function rta.choose_recovered(
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_first_id text,
  p_last_id text,
  p_limit bigint,
  p_now timestamptz
) returns text[]
language plpgsql as $$
declare
  v_ids text[];
begin
  with ended as (
    select id from public.webhook_deliveries
    where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C" and id <= p_last_id collate "C"
      and environment = p_environment and status in ('failed', 'canceled')
    order by tenant_id, endpoint_id, id limit p_limit for no key update skip locked
  ), retried as (
    select id from public.webhook_deliveries
    where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C" and id <= p_last_id collate "C"
      and environment = p_environment and status = 'pending' and attempt_count > 0
      and not waits and lease is null and next_attempt_at > p_now
    order by tenant_id, endpoint_id, id limit p_limit for no key update skip locked
  )
  select array_agg(id order by id) into v_ids
  from (select id from ended union all select id from retried order by id limit p_limit) recovered;
  return v_ids;
end $$;
