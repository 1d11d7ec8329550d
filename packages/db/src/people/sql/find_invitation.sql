-- The invitation of a tenant, with the name of the tenant, and whether it has not expired and may be accepted
-- (may_accept); no row when the invitation does not exist.
create function rta.find_invitation(p_tenant_id text, p_id text)
returns table (invitation rta.invitation, tenant_name text, is_valid boolean)
language plpgsql stable as $$
declare
  v_found record;
begin
  select row(
    stored.tenant_id, stored.id, stored.digest, stored.email, stored.role, stored.user_id, stored.created_by, stored.created_at,
    stored.expires_at
  )::rta.invitation as invitation, tenant.name
  into v_found
  from public.invitations stored join public.tenants tenant on tenant.tenant_id = stored.tenant_id
  where stored.tenant_id = p_tenant_id and stored.id = p_id;
  if found then
    invitation := v_found.invitation;
    tenant_name := v_found.name;
    is_valid := invitation.expires_at > now()
      and rta.may_accept(invitation.tenant_id, invitation.user_id, invitation.created_by);
    return next;
  end if;
end $$;
