-- Locks users of a tenant for a change: the caller and the target. With `p_owners`, also locks the owners, so that the
-- owners of a tenant cannot demote or remove each other at the same time. Returns whether the caller is valid and
-- unchanged; always true for the operator, whose `p_caller` is null. Lock order: users by primary key, then the session
-- of the caller.
create function rta.lock_people(p_caller rta.caller, p_tenant_id text, p_target_id text, p_owners boolean)
returns boolean
language plpgsql as $$
begin
  perform from public.users
  where tenant_id = p_tenant_id and id = any (array(
    select unnest(array[p_caller.id, p_target_id])
    union all
    select id from public.users where p_owners and tenant_id = p_tenant_id and role = 'owner'
  ) collate "C")
  order by id for update;
  return p_caller is null or rta.lock_caller(p_caller, true) is not null;
end $$;
