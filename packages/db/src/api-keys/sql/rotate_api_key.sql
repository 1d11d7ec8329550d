-- Gives a key a new credential and writes the audit event and the claim. A key has at most two live credentials: the
-- newest and, during an overlap, an older one. Returns one row, whose `kind` is:
--   'written'
--   'in_progress'  nothing is written: the promised overlap lasts `wait_seconds` more
--   'replayed'     nothing is written: the stored response follows
--   'stale'        nothing is written: the caller or the target has changed since its look-up
--
-- Without an overlap under way, the newest credential becomes the older one for `p_overlap_seconds`. During an overlap:
--   - An ancestor and the operator rotate in the same way, and the older credential ends now.
--   - The key itself, with its older credential, replaces a newest credential that was never used: its response was
--     probably lost. The newest ends now. The end of the older one is unchanged.
--   - The key itself otherwise has to wait.
--
-- Lock order: keys and the caller's credential (lock_target), the live credentials of the key by primary key, the claim.
create function rta.rotate_api_key(
  p_caller rta.caller, -- null: the operator
  p_target rta.target,
  p_key_id text,       -- of the new credential
  p_digest bytea,      -- SHA-256 of the new secret
  p_overlap_seconds integer,
  p_audit_event rta.audit_event,
  p_claim rta.claim    -- null without an Idempotency-Key
) returns table (
  kind text,
  wait_seconds integer,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
)
language plpgsql as $$
declare
  v_is_own boolean := coalesce(p_caller.id = p_target.id, false);
  v_key public.api_keys;
  v_newest public.api_key_credentials;
  v_older public.api_key_credentials;
  v_replaces boolean;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_outcome rta.write_outcome;
begin
  kind := 'stale';
  if rta.lock_target(p_caller, p_target) then
    select * into v_key from public.api_keys where tenant_id = p_target.tenant_id and id = p_target.id;
    perform from public.api_key_credentials
    where tenant_id = v_key.tenant_id and api_key_id = v_key.id and (retired_at is null or retired_at > v_now)
    order by key_id for no key update;
    v_now := date_trunc('milliseconds', clock_timestamp());
    select * into v_newest from public.api_key_credentials where key_id = v_key.key_id;
    select * into v_older from public.api_key_credentials
    where tenant_id = v_key.tenant_id and api_key_id = v_key.id and key_id <> v_key.key_id and retired_at > v_now;
    v_replaces := v_is_own and v_newest.is_unused and p_caller.credential_key_id is not distinct from v_older.key_id;
    kind := case
      -- During the wait for the credentials, the target or the caller may have expired, and the older credential may
      -- have ended. `not (p_caller is null)`, because `p_caller is not null` is true only if every field is set.
      when v_key.expires_at <= v_now or (not (p_caller is null) and rta.lock_caller(p_caller, false) is null) then 'stale'
      when v_is_own and p_caller.credential_key_id not in (v_newest.key_id, coalesce(v_older.key_id, '')) then 'stale'
      when v_is_own and v_older.key_id is not null and not v_replaces then 'in_progress'
      else 'written'
    end;
  end if;

  if kind = 'in_progress' then
    wait_seconds := greatest(1, ceil(extract(epoch from v_older.retired_at - clock_timestamp())));
  elsif kind = 'written' then
    -- The lock on the key is enough: a request with the same claim has waited for that lock, so this call does not
    -- wait.
    v_outcome := rta.claim_write(p_caller, 'infinity', p_claim, p_audit_event);
    if v_outcome.kind = 'replayed' then
      select v_outcome.* into kind, body_hash, status, location, etag, response_body, sealed_for;
    else
      perform rta.replace_credential(
        v_key, v_newest, v_older, p_caller.id, p_key_id, p_digest,
        case when v_replaces then null else v_now + make_interval(secs => p_overlap_seconds) end, v_now,
        p_audit_event.created_at
      );
      perform rta.insert_audit_events(array[p_audit_event], null, true);
    end if;
  end if;
  return next;
end $$;
