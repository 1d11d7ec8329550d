-- The amount by which the hold of a call grows now: `step_seconds`, or as many as the caps of all keys of its lineage,
-- the available balance and the requested length allow. It grows by no less than `least_seconds`, except by the rest of
-- the requested length. Null: it does not grow. `lacks_credits`: it does not grow for lack of available credits. A key that is not in `p_locked_keys` is being
-- changed; then the next pass decides.
--
-- The calling function has locked the keys, the session, the call and its counters: so their values are current.
create function rta.growth_of(
  p_session public.usage_sessions,
  p_locked_keys text[],
  p_terms rta.growth_terms,
  p_now timestamptz,
  out amount bigint,
  out lacks_credits boolean
)
language plpgsql as $$
declare
  v_call public.calls;
  v_left double precision;
  v_seconds bigint;
  v_least bigint;
begin
  lacks_credits := false;
  select * into v_call from public.calls where tenant_id = p_session.tenant_id and session_id = p_session.id;
  v_left := rta.held_seconds_left(p_session.reserved, p_session.used, p_session.price, v_call.counts_from, p_now);
  v_seconds := least(p_terms.step_seconds, v_call.max_seconds - p_session.reserved / p_session.price);
  if (v_left < p_terms.ahead_seconds and v_left > p_terms.last_seconds and v_seconds > 0) is not true then
    return;
  end if;
  perform from public.api_keys own
  where own.tenant_id = p_session.tenant_id and own.id = p_session.api_key_id and own.lineage || own.id <@ p_locked_keys;
  if not found or exists (
    select from rta.ended_keys(array[p_session.tenant_id], array[p_session.api_key_id], array[p_session.environment])
  ) then
    return;
  end if;
  v_least := least(p_terms.least_seconds, v_seconds);
  -- A key without a cap gives null, which `least` and `min` skip.
  select least(v_seconds, min((key.spend_limit_credit_micros - meter.settled - meter.reserved) / p_session.price)) into v_seconds
  from public.api_key_meters meter
  join public.api_keys key on key.tenant_id = meter.tenant_id and key.id = meter.api_key_id
  where meter.tenant_id = p_session.tenant_id and meter.api_key_id = any (p_session.lineage);
  if v_seconds < v_least then
    return;
  end if;
  select least(v_seconds, (granted - forfeited - settled - reserved) / p_session.price) into v_seconds
  from public.credit_accounts where tenant_id = p_session.tenant_id and environment = p_session.environment;
  lacks_credits := v_seconds < v_least;
  amount := case when v_seconds >= v_least then v_seconds * p_session.price end;
end $$;
