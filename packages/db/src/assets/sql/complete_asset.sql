-- Records that the file of a signed upload has been copied to its place: the asset becomes 'uploaded', with its job and
-- its audit event. Returns the outcome, and the asset after that:
--   'written'
--   'unchanged'  nothing is written: the asset is not a pending upload, or no longer one
--   'not_found'  no such asset exists
--   'stale'      nothing is written: the caller has changed since its look-up
--   'replayed'   nothing is written: the stored response follows
-- Only 'written' keeps the claim.
--
-- Lock order: the caller (lock_caller), the claim, the asset, the new job, the meter (change_asset).
create function rta.complete_asset(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_content_type text,
  p_size_bytes bigint,
  p_job rta.job,
  p_audit_event rta.audit_event,
  p_claim rta.claim -- null without an Idempotency-Key
) returns table (
  outcome text,
  asset rta.asset,
  body_hash bytea,
  response_status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_refusal text;
  v_asset rta.asset;
  v_new rta.asset;
begin
  if v_outcome.kind = 'written' then
    v_asset := rta.lock_asset(p_caller.tenant_id, p_environment, p_id);
    v_refusal := case
      when v_valid_until <= clock_timestamp() then 'stale'
      when v_asset.id is null then 'not_found'
      when v_asset.status <> 'pending_upload' or v_asset.remote_url is not null then 'unchanged'
    end;
    if v_refusal is null then
      v_new := v_asset;
      v_new.status := 'uploaded';
      v_new.content_type := p_content_type;
      v_new.size_bytes := p_size_bytes;
      v_new.reserved_bytes := p_size_bytes;
      v_new.updated_at := p_audit_event.created_at;
      perform rta.insert_job(p_job);
      v_asset := rta.change_asset(v_asset, v_new, p_audit_event);
    else
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
    end if;
  end if;
  return query select v_outcome.kind, v_asset, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for;
end $$;
