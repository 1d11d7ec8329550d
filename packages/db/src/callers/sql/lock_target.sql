-- Locks the target of a change, and the caller, and returns whether the change is allowed: the caller is valid
-- and unchanged, and the target is neither revoked nor expired and has the expected version, if one is expected. The
-- operator acts when `p_caller` is null.
--
-- Lock order: the caller's lineage and the target, sorted by primary key, then the credential. The target gets its
-- strongest lock at once. Two keys that revoke each other, or two changes of one key, would otherwise deadlock.
create function rta.lock_target(p_caller rta.caller, p_target rta.target) returns boolean
language plpgsql as $$
begin
  perform from public.api_keys
  where tenant_id = p_caller.tenant_id and id = any (p_caller.lineage || p_caller.id) and id < p_target.id
  order by id for share;
  perform from public.api_keys where tenant_id = p_target.tenant_id and id = p_target.id for no key update;
  -- Locks the rest of the lineage. Rows that are already locked cause no wait. `not (p_caller is null)`, because
  -- `p_caller is not null` is true only if every field is set.
  if (not (p_caller is null)) and rta.lock_caller(p_caller, true) is null then
    return false;
  end if;
  return exists (
    select from public.api_keys
    where tenant_id = p_target.tenant_id and id = p_target.id and version = coalesce(p_target.version, version)
      and revoked_at is null and coalesce(expires_at > clock_timestamp(), true)
  );
end $$;
