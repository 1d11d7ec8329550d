-- Adds the observations of a page to the connection history of its call, in the order of the pages' grants and of their
-- numbers. Stores the first 240 observations, and of two with the same grant and number the earlier upload. So a
-- repeated upload changes nothing. `p_observations`: a JSON array of `StoredObservation`. Returns false when the call
-- has no history, or ended more than a minute ago. Lock order: the history.
create function rta.add_observations(p_tenant_id text, p_session_id text, p_observations text) returns boolean
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_old jsonb;
  v_new jsonb;
begin
  select history.observations into v_old
  from public.connection_histories history
  join public.usage_sessions session on session.tenant_id = history.tenant_id and session.id = history.session_id
  where history.tenant_id = p_tenant_id and history.session_id = p_session_id
    and (session.ended_at is null or session.ended_at > v_now - interval '1 minute')
  for no key update of history;
  if not found then
    return false;
  end if;
  select jsonb_agg(observation order by granted_at, sequence) into v_new
  from (
    select distinct on (granted_at, sequence) observation, granted_at, sequence
    from (
      select observation, 1 as rank from jsonb_array_elements(v_old) observation
      union all
      select observation, 2 from jsonb_array_elements(p_observations::jsonb) observation
    ) both_lists
    cross join lateral (
      select (observation ->> 'grantedAt')::bigint as granted_at, (observation ->> 'sequence')::integer as sequence
    ) place
    order by granted_at, sequence, rank limit 240
  ) first_ones;
  if jsonb_array_length(v_new) > jsonb_array_length(v_old) then
    update public.connection_histories set observations = v_new, updated_at = v_now
    where tenant_id = p_tenant_id and session_id = p_session_id;
  end if;
  return true;
end $$;
