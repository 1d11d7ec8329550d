-- The credits that a key can still hold. The result is that of HEADROOM in the statement find_credential_with_credits
-- (callers.ts), by queries of one table each: see find_one_credential. The values are read without locks;
-- admit_sessions decides about admission.
create function rta.find_headroom(p_tenant_id text, p_environment text, p_id text, p_lineage text[])
returns json
language plpgsql stable as $$
#variable_conflict use_column
declare
  v_ids text[];
  v_limits bigint[];
  v_sessions bigint[];
  v_metered text[];
  v_held bigint[];
  v_open bigint[];
  v_account record;
  v_has_account boolean;
  v_has_overdue boolean;
  v_announces boolean := false;
  v_line record;
begin
  select array_agg(id), array_agg(spend_limit_credit_micros), array_agg(max_concurrent_sessions)
  into v_ids, v_limits, v_sessions
  from public.api_keys
  where tenant_id = p_tenant_id and environment = p_environment and id = any((p_lineage || p_id) collate "C");
  select array_agg(api_key_id), array_agg(settled + reserved), array_agg(open_sessions)
  into v_metered, v_held, v_open
  from public.api_key_meters
  where tenant_id = p_tenant_id and api_key_id = any((p_lineage || p_id) collate "C");
  select granted - forfeited - settled - reserved as available,
    case when open_sessions >= max_concurrent_sessions then max_concurrent_sessions end as reached_limit,
    (exhausted_at > now() - interval '1 hour') is not true as may_announce
  into v_account
  from public.credit_accounts where tenant_id = p_tenant_id and environment = p_environment;
  v_has_account := found;
  v_has_overdue := exists (
    select from public.usage_sessions
    where ended_at is null and (tenant_id, sweep_at) >= (p_tenant_id, timestamptz '-infinity')
      and (tenant_id, sweep_at) <= (p_tenant_id, now())
  );
  if v_has_account and v_account.may_announce then
    v_announces := exists (
      select from public.webhook_endpoints
      where tenant_id = p_tenant_id and environment = p_environment and status = 'enabled'
        and rta.selects(events, 'credits.exhausted')
    );
  end if;
  select
    min(headroom) filter (where id = p_id) as own,
    min(headroom) filter (where id <> p_id) as above,
    min(reached) filter (where id = p_id) as own_reached,
    min(reached) filter (where id <> p_id) as above_reached
  into v_line
  from (
    select line.id, line.spend_limit - coalesce(meter.held, 0) as headroom,
      case when meter.open_sessions >= line.max_sessions then line.max_sessions end as reached
    from unnest(v_ids, v_limits, v_sessions) line (id, spend_limit, max_sessions)
    left join unnest(v_metered, v_held, v_open) meter (id, held, open_sessions) on meter.id = line.id
  ) lines;
  return json_build_object(
    'own', v_line.own,
    'ancestors', v_line.above,
    'account', case when v_has_account then v_account.available else 0 end,
    'reachedLimits', json_build_object(
      'self', v_line.own_reached,
      'ancestor', v_line.above_reached,
      'tenant', case when v_has_account then v_account.reached_limit end
    ),
    'hasOverdue', v_has_overdue,
    'announcesExhaustion', v_announces
  );
end $$;
