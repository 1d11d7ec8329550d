-- Writes a movement of credits by the operator: a grant, a void, or an adjustment (a refund of what a session has
-- spent). Returns the outcome:
--   'written'
--   'repeated'       nothing is written: an entry with this reference, and the same kind, amount and session, exists
--   'reference_used' nothing is written: an entry with this reference exists and differs
--   'insufficient'   nothing is written: less is available, or the session has spent less, than the amount
--   'too_large'      nothing is written: the sum of the tenant's grants would exceed 2^53 - 1
--   'not_found'      no such tenant or session exists
--
-- Lock order: the session, its meters (lock_meters), the account, the events. Two movements with one reference wait for
-- the lock on the account.
create function rta.move_credits(p_entry rta.credit_entry, p_audit_event rta.audit_event) returns text
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_account public.credit_accounts;
  v_existing public.credit_entries;
  v_most bigint; -- null: no limit
begin
  if not exists (select from public.tenants where tenant_id = p_entry.tenant_id) then
    return 'not_found';
  end if;
  if p_entry.kind = 'adjust' then
    select * into v_session from public.usage_sessions
    where tenant_id = p_entry.tenant_id and environment = p_entry.environment and id = p_entry.session_id
    for no key update;
    if not found then
      return 'not_found';
    end if;
    perform rta.lock_meters(array_fill(v_session.tenant_id, array[cardinality(v_session.lineage)]), v_session.lineage);
  end if;
  insert into public.credit_accounts (tenant_id, environment, granted, updated_at)
  values (p_entry.tenant_id, p_entry.environment, 0, p_entry.created_at)
  on conflict do nothing;
  select * into v_account from public.credit_accounts
  where tenant_id = p_entry.tenant_id and environment = p_entry.environment
  for no key update;

  select * into v_existing from public.credit_entries
  where tenant_id = p_entry.tenant_id and environment = p_entry.environment and reference = p_entry.reference;
  if found then
    return case
      when v_existing.kind = p_entry.kind and v_existing.amount = p_entry.amount
        and v_existing.session_id is not distinct from p_entry.session_id then 'repeated'
      else 'reference_used'
    end;
  end if;
  if p_entry.kind = 'grant' and p_entry.amount > 9007199254740991 - v_account.granted then
    return 'too_large';
  elsif p_entry.kind = 'void' then
    v_most := v_account.granted - v_account.forfeited - v_account.settled - v_account.reserved;
  elsif p_entry.kind = 'adjust' and v_session.ended_at is not null then
    select v_session.used - coalesce(sum(amount), 0) into v_most from public.credit_entries
    where session_id = v_session.id and environment = v_session.environment and tenant_id = v_session.tenant_id
      and kind = 'adjust';
  elsif p_entry.kind = 'adjust' then
    v_most := 0;
  end if;
  if p_entry.amount > v_most then
    return 'insufficient';
  end if;

  update public.credit_accounts set
    granted = granted + case when p_entry.kind = 'grant' then p_entry.amount else 0 end,
    forfeited = forfeited + case when p_entry.kind = 'void' then p_entry.amount else 0 end,
    settled = settled - case when p_entry.kind = 'adjust' then p_entry.amount else 0 end,
    version = version + 1, updated_at = p_entry.created_at
  where tenant_id = p_entry.tenant_id and environment = p_entry.environment;
  if p_entry.kind = 'adjust' then
    update public.api_key_meters set settled = settled - p_entry.amount
    where tenant_id = v_session.tenant_id and api_key_id = any (v_session.lineage);
  end if;
  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, reference, request_id, created_at
  ) values (
    p_entry.tenant_id, p_entry.id, p_entry.environment, p_entry.kind, p_entry.amount, p_entry.session_id,
    v_session.api_key_id, p_entry.reference, p_entry.request_id, p_entry.created_at
  );
  perform rta.insert_audit_events(array[p_audit_event], null, true);
  if p_entry.kind = 'void' then
    perform rta.emit_low_credits(v_account, p_audit_event.created_at);
  end if;
  return 'written';
end $$;
