-- Calls whose hold must grow, in the order of their ends: see grow_holds. The rows are read without locks. A call whose
-- keys or account have too few credits is omitted, so that nothing is written or locked for it, unless
-- `credits.exhausted` can be sent. As in due_calls, the open sessions are read first. The condition on `started_at`
-- finds a few sessions too many, but avoids reading the call of each session.
create function rta.due_growths(p_terms rta.growth_terms, p_now timestamptz, p_limit integer)
returns table (tenant_id text, session_id text, api_key_id text)
language plpgsql stable rows 10 as $$
begin
  return query
  with open as materialized (
    select session.tenant_id, session.id, session.environment, session.api_key_id, session.lineage, session.price, session.used,
      session.reserved
    from fleet.avatar_slots slot
    -- `GROWTH` of the domain's calls/worker-sync.ts.
    join fleet.avatar_workers worker on worker.id = slot.worker_id and 'growth' = any (worker.features)
    join public.usage_sessions session
      on session.tenant_id = slot.tenant_id and session.id = slot.session_id and session.ended_at is null
    where slot.session_id is not null and not session.must_end and session.expires_at > p_now
      and session.started_at + make_interval(secs => session.reserved / session.price - p_terms.ahead_seconds) < p_now
  ), due as materialized (
    select open.*, rta.held_seconds_left(open.reserved, open.used, open.price, call.counts_from, p_now) as seconds_left,
      least(p_terms.least_seconds, call.max_seconds - open.reserved / open.price) * open.price as least_amount
    from open cross join lateral (
      select * from public.calls one
      where one.tenant_id = open.tenant_id and one.session_id = open.id
      offset 0 -- so that the planner reads by the primary key: see report_usages
    ) call
    -- Other calls hold their whole requested length from the start: `MAX_SESSION_SECONDS` of the domain.
    where call.max_seconds > 1800 and call.max_seconds > open.reserved / open.price
  )
  select due.tenant_id::text, due.id::text, due.api_key_id::text from due
  join public.credit_accounts account on account.tenant_id = due.tenant_id and account.environment = due.environment
  where due.seconds_left < p_terms.ahead_seconds and due.seconds_left > p_terms.last_seconds
    and not exists (
      select from public.api_key_meters meter
      join public.api_keys key on key.tenant_id = meter.tenant_id and key.id = meter.api_key_id
      where meter.tenant_id = due.tenant_id and meter.api_key_id = any (due.lineage)
        and meter.settled + meter.reserved + due.least_amount > key.spend_limit_credit_micros
      offset 0
    )
    and (
      account.granted - account.forfeited - account.settled - account.reserved >= due.least_amount
      or (account.exhausted_at > p_now - interval '1 hour') is not true and exists (
        select from public.webhook_endpoints endpoint
        where endpoint.tenant_id = due.tenant_id and endpoint.environment = due.environment
          and endpoint.status = 'enabled' and rta.selects(endpoint.events, 'credits.exhausted')
        offset 0
      )
    )
  order by due.seconds_left, due.id limit p_limit;
end $$;
