-- Sends `credits.low` if a change by the operator, or a change of the threshold, has brought an account below its
-- threshold (falls_below). `p_old`: the account before, as the calling function has locked it.
create function rta.emit_low_credits(p_old public.credit_accounts, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_events rta.event[] := array(
    select row(tenant_id, environment, 'credits.low', /* target_id */ tenant_id, /* created_at */ p_now)::rta.event from public.credit_accounts
    where tenant_id = p_old.tenant_id and environment = p_old.environment and rta.falls_below(
      p_old.granted - p_old.forfeited - p_old.settled - p_old.reserved, granted - forfeited - settled - reserved,
      p_old.low_threshold, low_threshold
    )
  );
begin
  perform rta.emit_events(v_events);
end $$;
