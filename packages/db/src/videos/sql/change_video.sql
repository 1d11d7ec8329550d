-- Writes a video as `p_new`, with a new version, and returns it.
-- The calling function has locked the video.
create function rta.change_video(p_new rta.video) returns rta.video
language plpgsql as $$
begin
  p_new.version := p_new.version + 1;
  p_new.updated_at := date_trunc('milliseconds', clock_timestamp());
  update public.videos set
    text = p_new.text, status = p_new.status, progress = p_new.progress, asset_id = p_new.asset_id, duration_ms = p_new.duration_ms,
    billed_seconds = p_new.billed_seconds, billed_credit_micros = p_new.billed_credit_micros, error_code = p_new.error_code,
    error_detail = p_new.error_detail, warnings = p_new.warnings, version = p_new.version, updated_at = p_new.updated_at
  where tenant_id = p_new.tenant_id and id = p_new.id;
  return p_new;
end $$;
