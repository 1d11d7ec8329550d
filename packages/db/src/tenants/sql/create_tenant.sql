-- Creates a tenant with its two credit accounts and the grants of a new tenant. `p_is_first`: only if no tenant exists.
-- When several processes do so at once, one writes, because a constraint allows one such row. Returns whether the
-- tenant was created.
create function rta.create_tenant(
  p_tenant_id text,
  p_name text,
  p_created_at timestamptz,
  p_is_first boolean,
  p_grants rta.credit_entry[] -- one for each environment
) returns boolean
language plpgsql as $$
begin
  if p_is_first then
    if exists (select from public.tenants) then
      return false;
    end if;
    insert into public.tenants (tenant_id, name, is_first, created_at) values (p_tenant_id, p_name, true, p_created_at)
    on conflict do nothing;
    if not found then
      return false;
    end if;
  else
    insert into public.tenants (tenant_id, name, created_at) values (p_tenant_id, p_name, p_created_at);
  end if;
  insert into public.credit_accounts (tenant_id, environment, granted, updated_at)
  select tenant_id, environment, amount, created_at from unnest(p_grants);
  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, reference, request_id, created_at
  )
  select tenant_id, id, environment, kind, amount, reference, request_id, created_at from unnest(p_grants)
  where amount > 0;
  return true;
end $$;
