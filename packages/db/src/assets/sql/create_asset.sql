-- Creates an asset with its job, its audit event and its claim. Returns the outcome: 'over_quota' when the tenant would have
-- more than `p_max_assets` assets, or `p_max_bytes` bytes, in the environment.
--
-- Lock order: the caller (lock_caller), the claim, the meter, then the new rows, which no other request can name.
-- Creates of a tenant wait for its meter, so that together they do not exceed the quota.
create function rta.create_asset(
  p_caller rta.caller,
  p_asset rta.asset,
  p_job rta.job,     -- null when the asset has no work yet
  p_audit_event rta.audit_event,
  p_claim rta.claim, -- null without an Idempotency-Key
  p_max_assets bigint,
  p_max_bytes bigint
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcome rta.write_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, p_audit_event);
  v_refusal text;
  v_meter public.asset_meters;
begin
  if v_outcome.kind <> 'written' then
    return next v_outcome;
    return;
  end if;

  v_meter := rta.lock_asset_meter(p_asset.tenant_id, p_asset.environment);
  v_refusal := case
    -- The caller has expired during the wait for the meter.
    when v_valid_until <= clock_timestamp() then 'stale'
    when v_meter.assets + 1 > p_max_assets or v_meter.bytes + p_asset.reserved_bytes > p_max_bytes then 'over_quota'
  end;
  if v_refusal is null then
    update public.asset_meters set assets = assets + 1, bytes = bytes + p_asset.reserved_bytes
    where tenant_id = p_asset.tenant_id and environment = p_asset.environment;
    insert into public.assets (
      tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, public_type, remote_url,
      reserved_bytes, error_code, error_detail, original_filename, metadata, version, created_at, updated_at, origin, duration_ms
    )
    values (p_asset.*);
    perform rta.insert_job(p_job);
    perform rta.insert_audit_events(array[p_audit_event], array[v_outcome], true);
  else
    v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, p_audit_event);
  end if;
  return next v_outcome;
end $$;
