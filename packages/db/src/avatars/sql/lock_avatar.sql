-- Locks an avatar and returns it. All fields are null when the tenant has no avatar with this id in the environment.
-- Lock order: the avatar.
create function rta.lock_avatar(p_tenant_id text, p_environment text, p_id text) returns rta.avatar
language plpgsql as $$
begin
  -- Matched by the names of the columns. JSON keeps the text of `json` columns.
  return (
    select json_populate_record(null::rta.avatar, row_to_json(stored)) from public.avatars stored
    where tenant_id = p_tenant_id and environment = p_environment and id = p_id
    for no key update
  );
end $$;
