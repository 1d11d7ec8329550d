-- Locks the meters of keys, and returns them in the order of their primary keys. Each key once. Creates missing meters, of keys that
-- were written without: no release does so that can run beside this one.
--
-- Lock order: meters by primary key. Only a missing one can be locked after those that follow it: by the second attempt, when
-- another transaction has created it meanwhile.
create function rta.lock_meters(p_tenant_ids text[], p_api_key_ids text[]) returns rta.locked_meter[]
language plpgsql as $$
declare
  v_meters rta.locked_meter[];
begin
  loop
    select array(
      select row(/* used */ meter.settled + meter.reserved, meter.open_sessions)::rta.locked_meter
      from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
      join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
      order by meter.tenant_id, meter.api_key_id
      for no key update of meter
    ) into v_meters;
    if cardinality(v_meters) = coalesce(cardinality(p_api_key_ids), 0) then
      return v_meters;
    end if;
    insert into public.api_key_meters (tenant_id, api_key_id)
    select tenant_id, id from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
    order by tenant_id collate "C", id collate "C"
    on conflict do nothing;
  end loop;
end $$;
