-- How many deliveries of an endpoint a recovery sends again, counted up to `p_limit`: see choose_recovered.
create function rta.count_recovered(
  p_tenant_id text,
  p_environment text,
  p_endpoint_id text,
  p_first_id text,
  p_last_id text,
  p_limit integer
) returns integer
language plpgsql stable as $$
begin
  return (
    select count(*) from (
      (
        select from public.webhook_deliveries
        where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C" and id <= p_last_id collate "C"
          and environment = p_environment and status in ('failed', 'canceled')
        order by tenant_id, endpoint_id, id limit p_limit
      )
      union all
      (
        select from public.webhook_deliveries
        where tenant_id = p_tenant_id and endpoint_id = p_endpoint_id and id >= p_first_id collate "C" and id <= p_last_id collate "C"
          and environment = p_environment and status = 'pending' and attempt_count > 0 and not waits and lease is null
        order by tenant_id, endpoint_id, id limit p_limit
      )
      limit p_limit
    ) recovered
  );
end $$;
