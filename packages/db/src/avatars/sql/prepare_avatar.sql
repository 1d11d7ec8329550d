-- Prepares an avatar again: starts a new preparation of its latest source, and writes the audit event. Returns the
-- outcome, and the avatar after that:
--   'written'
--   'unchanged'  nothing is written: the avatar has another status or version than the call accepts
--   'no_source'  nothing is written: the avatar has no source
--   'not_found'  no such avatar exists
--   'stale'      nothing is written: the caller has changed since its look-up
--   'replayed'   nothing is written: the stored response follows
-- Only 'written' keeps the claim. The operator acts when `p_caller` is null.
--
-- Lock order: the caller (lock_caller), the claim, the avatar, its job.
create function rta.prepare_avatar(
  p_caller rta.caller,
  p_tenant_id text,
  p_environment text,
  p_id text,
  p_version integer,       -- the only version that the call accepts (the stored response shows the next one); null: every version
  p_statuses text[],       -- the statuses that the call accepts
  p_in_background text[],  -- see preparation_rules
  p_job_id text,
  p_audit_event rta.audit_event,
  p_claim rta.claim        -- null without an Idempotency-Key
) returns table (
  outcome text,
  avatar rta.avatar,
  body_hash bytea,
  response_status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
)
language plpgsql as $$
declare
  -- `case when p_caller is null`, because `p_caller is not null` is true only if every field is set.
  v_valid_until timestamptz := case when p_caller is null then 'infinity' else rta.lock_caller(p_caller, true) end;
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_refusal text;
  v_old rta.avatar;
  v_avatar rta.avatar;
begin
  if v_outcome.kind = 'written' then
    v_old := rta.lock_avatar(p_tenant_id, p_environment, p_id);
    v_avatar := v_old;
    v_refusal := case
      when v_valid_until <= clock_timestamp() then 'stale'
      when v_old.id is null then 'not_found'
      when v_old.version <> p_version or v_old.status <> all (p_statuses) then 'unchanged'
      when coalesce(v_old.pending_source_asset_id, v_old.source_asset_id) is null then 'no_source'
    end;
    if v_refusal is null then
      v_avatar := rta.start_generation(v_old, v_old.status = any (p_in_background), p_job_id);
      p_audit_event.changed_fields := rta.changed_fields(v_old, v_avatar);
      v_avatar := rta.change_avatar(v_old, v_avatar, p_audit_event);
    else
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
    end if;
  end if;
  return query select v_outcome.kind, v_avatar, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for;
end $$;
