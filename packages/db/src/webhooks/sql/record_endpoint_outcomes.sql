-- Records the outcomes of deliveries at their endpoints: since when an endpoint fails, and until when it is slow.
-- Disables endpoints that have responded with 410, or have been failing since `p_failing_since`. Changes only locked
-- endpoints, because another transaction may hold an unlocked one and wait for a delivery that is locked here.
-- Lock order: the calling function has locked the endpoints and the deliveries; then see disable_failing_endpoint.
create function rta.record_endpoint_outcomes(
  p_tenant_ids text[],      -- for each delivery
  p_endpoint_ids text[],
  p_outcomes text[],
  p_slow_ms bigint[],
  p_is_sent boolean[],
  p_locked text[],          -- the endpoints that are locked
  p_audit_event_ids text[], -- for each delivery, used if its endpoint is disabled
  p_request_id text,
  p_created_at timestamptz,
  p_now timestamptz,
  p_failing_since timestamptz
) returns void
language plpgsql as $$
declare
  v_endpoint record;
begin
  update public.webhook_endpoints endpoint set
    failing_since = case when shown.is_well then null else coalesce(endpoint.failing_since, p_now) end,
    slow_until = greatest(endpoint.slow_until, shown.slow_until)
  from (
    select tenant_id, endpoint_id, bool_or(outcome = 'delivered') as is_well,
      p_now + max(slow_ms) * interval '1 millisecond' as slow_until
    from unnest(p_tenant_ids, p_endpoint_ids, p_outcomes, p_slow_ms, p_is_sent)
      shown (tenant_id, endpoint_id, outcome, slow_ms, is_sent)
    where is_sent
    group by tenant_id, endpoint_id
  ) shown
  where endpoint.tenant_id = shown.tenant_id collate "C" and endpoint.id = shown.endpoint_id collate "C"
    and endpoint.id = any (p_locked)
    and (shown.slow_until is not null or shown.is_well = (endpoint.failing_since is not null));

  for v_endpoint in
    select distinct on (tenant_id, endpoint_id) tenant_id, endpoint_id, outcome, p_audit_event_ids[place] as audit_event_id
    from unnest(p_tenant_ids, p_endpoint_ids, p_outcomes, p_is_sent) with ordinality
      shown (tenant_id, endpoint_id, outcome, is_sent, place)
    where is_sent and outcome <> 'delivered' and endpoint_id = any (p_locked)
    order by tenant_id, endpoint_id, (outcome = 'gone') desc
  loop
    perform rta.disable_failing_endpoint(
      v_endpoint.tenant_id, v_endpoint.endpoint_id, v_endpoint.outcome = 'gone', p_failing_since,
      row(
        v_endpoint.tenant_id, /* id */ v_endpoint.audit_event_id, null, null, null, 'webhook_endpoint.disabled', null, null, p_request_id,
        p_created_at
      )::rta.audit_event
    );
  end loop;
end $$;
