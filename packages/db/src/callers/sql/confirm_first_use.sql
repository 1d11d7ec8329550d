-- Records the first use of a credential that a rotation has issued. Returns false and writes nothing when the
-- credential was used before or is retired. Lock order: the credential.
create function rta.confirm_first_use(p_key_id text) returns boolean
language plpgsql as $$
declare
  v_retired_at timestamptz;
begin
  select coalesce(retired_at, 'infinity') into v_retired_at from public.api_key_credentials
  where key_id = p_key_id and is_unused
  for no key update;
  -- Null when no such credential exists. An unknown credential is not confirmed.
  if (v_retired_at > clock_timestamp()) is not true then
    return false;
  end if;
  update public.api_key_credentials set is_unused = false where key_id = p_key_id;
  return true;
end $$;
