-- Locks the meter of a tenant's asset quota in one environment, and returns it. Creates a missing meter. Lock order:
-- the meter.
create function rta.lock_asset_meter(p_tenant_id text, p_environment text) returns public.asset_meters
language plpgsql as $$
declare
  v_meter public.asset_meters;
begin
  loop
    select * into v_meter from public.asset_meters
    where tenant_id = p_tenant_id and environment = p_environment
    for no key update;
    exit when found;
    insert into public.asset_meters (tenant_id, environment, assets, bytes) values (p_tenant_id, p_environment, 0, 0)
    on conflict do nothing;
  end loop;
  return v_meter;
end $$;
