-- Locks the meters of keys, each once, and returns them in the order of their primary keys. Creates the missing meters
-- of keys that an old release wrote without a meter. No such release can run beside this one.
--
-- Lock order: meters by primary key. Only a missing meter can be locked after its successors: by the second attempt,
-- when another transaction has created it meanwhile. A few meters are locked one by one, because Citus keeps the plan
-- of a statement on one table, but plans a query of several tables at each execution.
create function rta.lock_meters(p_tenant_ids text[], p_api_key_ids text[]) returns rta.locked_meter[]
language plpgsql as $$
declare
  v_meters rta.locked_meter[];
  v_meter rta.locked_meter;
begin
  loop
    if cardinality(p_api_key_ids) <= 4 then
      v_meters := '{}';
      for v_at in 1 .. cardinality(p_api_key_ids) loop
        select /* used */ meter.settled + meter.reserved, meter.open_sessions into v_meter
        from public.api_key_meters meter
        where meter.tenant_id = p_tenant_ids[v_at] and meter.api_key_id = p_api_key_ids[v_at]
        for no key update;
        exit when not found;
        v_meters := v_meters || v_meter;
      end loop;
    else
      select array(
        select row(/* used */ meter.settled + meter.reserved, meter.open_sessions)::rta.locked_meter
        from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
        join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
        order by meter.tenant_id, meter.api_key_id
        for no key update of meter
      ) into v_meters;
    end if;
    if cardinality(v_meters) = coalesce(cardinality(p_api_key_ids), 0) then
      return v_meters;
    end if;
    insert into public.api_key_meters (tenant_id, api_key_id)
    select tenant_id, id from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
    order by tenant_id collate "C", id collate "C"
    on conflict do nothing;
  end loop;
end $$;
