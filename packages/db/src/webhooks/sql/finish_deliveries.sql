-- Records the outcomes of deliveries that a worker has sent. Returns how many of them it still held; the others are
-- unchanged. 'retry': pending until the next attempt. 'gone': failed, and its endpoint is disabled. A delivery that
-- failed for good, but was resent on request meanwhile (resend_delivery), is due at once, because its schedule has
-- begun anew.
--
-- An endpoint has been failing since its first failed attempt after the last success. When that is five days ago, the
-- endpoint is disabled, with its audit event and an event for the tenant's other endpoints.
--
-- Lock order: the endpoints that change, by primary key, then the deliveries with those that wait for them, by primary
-- key (lock_finished_deliveries), then the hosts whose budgets they have used, then the events. A working endpoint is
-- not locked. Fails with 40001 when another transaction has locked a delivery that was parked meanwhile
-- (unpark_deliveries).
create function rta.finish_deliveries(
  p_finished rta.finished_delivery[],
  p_audit_event_ids text[], -- one for each delivery, used if its endpoint is disabled
  p_request_id text,
  p_created_at timestamptz
) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_days_without_success constant interval := interval '5 days';
  -- For each delivery that is retried, when it is due again.
  v_next_at timestamptz[] := array(
    select v_now + delay_ms * interval '1 millisecond' from unnest(p_finished) with ordinality order by ordinality
  );
  v_finished integer;
  v_tenant_ids text[];
  v_endpoint_ids text[];
  v_target_ids text[];
  v_environments text[];
  v_hosts text[]; -- the hosts whose budgets they have used
  v_outcomes text[];
  v_slow_ms bigint[];
  v_is_sent boolean[];
  v_locked text[]; -- the endpoints that are locked
begin
  v_locked := rta.lock_finished_deliveries(p_finished, v_now - v_days_without_success);

  with ended as (
    update public.webhook_deliveries delivery set
      status = case
        when finished.outcome = 'delivered' then 'delivered'
        when finished.outcome = 'retry' or finished.outcome = 'failed' and delivery.attempt_count < finished.attempt_count
          then 'pending'
        else 'failed'
      end,
      attempts = case when finished.attempt is null then delivery.attempts
        else rta.with_attempt(delivery.attempts, finished.attempt) end,
      attempt_count = delivery.attempt_count + case when finished.attempt is null then 0 else 1 end,
      next_attempt_at = case
        when finished.outcome = 'retry' then v_next_at[finished.ordinality]
        when finished.outcome = 'failed' and delivery.attempt_count < finished.attempt_count then v_now
      end,
      lease = null,
      leased_until = null
    from unnest(p_finished) with ordinality finished
    where delivery.tenant_id = finished.tenant_id and delivery.id = finished.id and delivery.lease = finished.lease
    returning delivery.tenant_id, delivery.endpoint_id, delivery.target_id, delivery.environment, delivery.budget_host, finished.slow_ms,
      case delivery.status when 'pending' then 'retry' else finished.outcome end as outcome,
      finished.attempt is not null as is_sent
  )
  select count(*), array_agg(tenant_id), array_agg(endpoint_id), array_agg(target_id), array_agg(outcome), array_agg(slow_ms),
    array_agg(is_sent), array_agg(environment), array_agg(budget_host)
  into v_finished, v_tenant_ids, v_endpoint_ids, v_target_ids, v_outcomes, v_slow_ms, v_is_sent, v_environments, v_hosts
  from ended;
  if v_finished = 0 then
    return 0;
  end if;

  perform rta.unpark_deliveries(
    array_agg(tenant_id), array_agg(endpoint_id), array_agg(target_id)
  )
  from unnest(v_tenant_ids, v_endpoint_ids, v_target_ids, v_outcomes) ended (tenant_id, endpoint_id, target_id, outcome)
  where outcome <> 'retry';

  if array_remove(v_hosts, null) <> '{}' then
    perform rta.record_host_outcomes(v_tenant_ids, v_environments, v_hosts, v_outcomes, v_is_sent, v_now);
  end if;
  perform rta.record_endpoint_outcomes(
    v_tenant_ids, v_endpoint_ids, v_outcomes, v_slow_ms, v_is_sent, v_locked, p_audit_event_ids, p_request_id, p_created_at,
    v_now, v_now - v_days_without_success
  );
  return v_finished;
end $$;
