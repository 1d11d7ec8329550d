-- Gives a key a new credential, and ends the newest one at `p_newest_until`. `p_newest_until` is null when the new
-- credential replaces the newest one, which was never used: then the newest ends now, and the end of the older one is
-- unchanged. Otherwise the older one ends now. The calling function has locked the key, and then its live credentials.
create function rta.replace_credential(
  p_key public.api_keys,
  p_newest public.api_key_credentials,
  p_older public.api_key_credentials, -- null: no older credential is live
  p_caller_id text,                   -- null: the operator
  p_key_id text,                      -- of the new credential
  p_digest bytea,
  p_newest_until timestamptz,
  p_now timestamptz,
  p_created_at timestamptz
) returns void
language plpgsql as $$
begin
  update public.api_keys set key_id = p_key_id, version = version + 1
  where tenant_id = p_key.tenant_id and id = p_key.id;
  update public.api_key_credentials set
    retired_by = p_caller_id,
    -- `least` skips null.
    retired_at = least(
      retired_at, p_key.expires_at, case when key_id = p_newest.key_id then coalesce(p_newest_until, p_now) else p_now end
    )
  where key_id = p_newest.key_id or (p_newest_until is not null and key_id = p_older.key_id);
  if p_caller_id is distinct from p_key.id then
    -- When an ancestor or the operator takes the key back, its older secrets may no longer report it. See may_report.
    update public.api_key_credentials set retired_by = p_caller_id
    where tenant_id = p_key.tenant_id and api_key_id = p_key.id and retired_by = p_key.id
      and key_id not in (p_newest.key_id, coalesce(p_older.key_id, ''));
  end if;
  insert into public.api_key_credentials (key_id, tenant_id, api_key_id, digest, is_unused, created_at)
  values (p_key_id, p_key.tenant_id, p_key.id, p_digest, true, p_created_at);
end $$;
