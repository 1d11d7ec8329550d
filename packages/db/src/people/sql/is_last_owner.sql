-- Whether a user is the only owner of its tenant.
create function rta.is_last_owner(p_user rta.member) returns boolean
language sql stable as $$
  select p_user.role = 'owner' and not exists (
    select from public.users
    where tenant_id = p_user.tenant_id and role = 'owner' and id <> p_user.id
  );
$$;
