-- Sends `api_key.expiring` for keys that expire within seven days, and again within one day, each once. Returns the
-- number of notices. Only the key's own expiry counts: a descendant that ends with its ancestor is not announced. A key
-- that was created with less time left than a notice announces does not get that notice. A key whose first notice was
-- missed gets only the later one. `expiry_notice` of the meter is the last notice; another expiry clears it
-- (update_api_key). Only tenants with an endpoint that selects the event are read. Lock order: the keys and the meters
-- (skip locked), the events. A key that is being changed is left to the next call.
create function rta.announce_expiring_keys(p_limit integer) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_events rta.event[];
begin
  with told as materialized (
    select distinct tenant_id, environment from public.webhook_endpoints
    where status = 'enabled' and rta.selects(events, 'api_key.expiring')
  ), due as materialized (
    select key.tenant_id, key.id, key.environment, key.expires_at, key.days
    from told cross join lateral (
      select one.*, case when one.expires_at <= v_now + interval '1 day' then 1 else 7 end as days from public.api_keys one
      where one.tenant_id = told.tenant_id and one.expires_at > v_now and one.expires_at <= v_now + interval '7 days'
      offset 0
    ) key
    join lateral (
      select * from public.api_key_meters one where one.tenant_id = key.tenant_id and one.api_key_id = key.id offset 0
    ) meter on (meter.expiry_notice <= key.days) is not true
    where key.environment = told.environment and key.created_at <= key.expires_at - make_interval(days => key.days)
      and not exists (
        select from public.api_keys one where one.tenant_id = key.tenant_id and one.id = any (key.lineage || key.id)
          and (one.revoked_at is not null or one.expires_at <= v_now)
        offset 0
      )
    limit p_limit
  ), locked as materialized (
    select due.* from due
    join public.api_keys key on key.tenant_id = due.tenant_id and key.id = due.id
    join public.api_key_meters meter on meter.tenant_id = due.tenant_id and meter.api_key_id = due.id
    where (key.expires_at = due.expires_at) is true and (meter.expiry_notice <= due.days) is not true
    for share of key skip locked for no key update of meter skip locked
  ), announced as (
    update public.api_key_meters meter set expiry_notice = locked.days from locked
    where meter.tenant_id = locked.tenant_id and meter.api_key_id = locked.id
    returning locked.tenant_id, locked.environment, locked.id
  )
  select array_agg(row(tenant_id, environment, 'api_key.expiring', /* target_id */ id, /* created_at */ v_now)::rta.event) into v_events from announced;
  perform rta.emit_events(v_events);
  return coalesce(cardinality(v_events), 0);
end $$;
