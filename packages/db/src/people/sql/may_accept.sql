-- Whether the people of an invitation allow its acceptance: its user exists, and its creator is still an owner, or is
-- the same user. Without this check, a removed or demoted owner could come back by a link.
create function rta.may_accept(p_tenant_id text, p_user_id text, p_created_by text) returns boolean
language sql stable as $$
  select (p_user_id is null or exists (select from public.users where tenant_id = p_tenant_id and id = p_user_id))
    and (p_created_by is null or exists (
      select from public.users
      where tenant_id = p_tenant_id and id = p_created_by and case when p_user_id is null then role = 'owner' else id = p_user_id end
    ));
$$;
