-- Grows the holds of calls that go on for longer than their hold, each by a step (growth_of). Returns how many have
-- grown, at most as many as `p_entry_ids`. A call whose hold cannot grow goes on. It is tried again until its last
-- seconds, and ends when its hold is used up. The calls that end first get the available credits.
--
-- Lock order: the keys of their lineages (skip locked), so that caps stay as they are; the sessions (skip locked),
-- their calls and counters (lock_counters), their slots, the events. So a growth takes the same locks as the opening of
-- a session, and neither waits for a key.
create function rta.grow_holds(
  p_terms rta.growth_terms, p_entry_ids text[], p_request_id text, out grown integer
)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_tenant_ids text[];
  v_session_ids text[];
  v_api_key_ids text[];
  v_keys text[]; -- the locked keys
  v_session public.usage_sessions;
  v_sessions public.usage_sessions[] := '{}';
  v_closings rta.closing[] := '{}'; -- their locked sessions, calls and counters
  v_accounts public.credit_accounts[]; -- as they were before
  v_growth record;
  v_grown text[] := '{}';
  v_exhausted_tenants text[] := '{}';
  v_exhausted_environments text[] := '{}';
begin
  grown := 0;
  select array_agg(tenant_id), array_agg(session_id), array_agg(api_key_id) into v_tenant_ids, v_session_ids, v_api_key_ids
  from rta.due_growths(p_terms, v_now, cardinality(p_entry_ids));
  if v_session_ids is null then
    return;
  end if;
  select array_agg(locked.id) into v_keys from (
    select key.id from (
      select distinct own.tenant_id, unnest(own.lineage || own.id) as id
      from unnest(v_tenant_ids, v_api_key_ids) due (tenant_id, id)
      join public.api_keys own on own.tenant_id = due.tenant_id and own.id = due.id
    ) line join public.api_keys key on key.tenant_id = line.tenant_id and key.id = line.id
    order by key.tenant_id, key.id for share of key skip locked
  ) locked;
  for v_session in
    select session.* from unnest(v_tenant_ids, v_session_ids) due (tenant_id, id)
    join public.usage_sessions session on session.tenant_id = due.tenant_id and session.id = due.id
    order by session.tenant_id, session.id
    for no key update of session skip locked
  loop
    -- Checked here, not by the query: see report_usages.
    continue when v_session.ended_at is not null or v_session.must_end or v_session.expires_at <= v_now;
    v_sessions := v_sessions || v_session;
    v_closings := v_closings || rta.closing_of(v_session, 'sweep', null, null, null, p_request_id);
  end loop;
  perform rta.lock_counters(v_closings);
  v_now := date_trunc('milliseconds', clock_timestamp()); -- after the last wait
  select array_agg(account) into v_accounts from public.credit_accounts account
  where (account.tenant_id, account.environment) in (select one.tenant_id, one.environment from unnest(v_closings) one);
  for v_session in select * from unnest(v_sessions) one order by array_position(v_session_ids, one.id) loop
    select * into v_growth from rta.growth_of(v_session, v_keys, p_terms, v_now);
    if v_growth.amount is not null then
      grown := grown + 1;
      perform rta.grow_hold(v_session, v_growth.amount, p_entry_ids[grown], p_request_id, v_now);
      v_grown := v_grown || v_session.id;
    elsif v_growth.lacks_credits then
      v_exhausted_tenants := v_exhausted_tenants || v_session.tenant_id;
      v_exhausted_environments := v_exhausted_environments || v_session.environment;
    end if;
  end loop;
  perform from fleet.avatar_slots where session_id = any (v_grown) order by worker_id, n for no key update;
  update fleet.avatar_slots set has_news = true where session_id = any (v_grown);
  perform rta.emit_growth_events(v_accounts, v_exhausted_tenants, v_exhausted_environments, v_now);
end $$;
