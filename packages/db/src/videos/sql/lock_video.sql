-- Locks a video and returns it. All fields are null when the tenant has no video with this id in the environment.
-- Lock order: the video, after callers and claims, and before all other rows.
create function rta.lock_video(p_tenant_id text, p_environment text, p_id text) returns rta.video
language plpgsql as $$
declare
  v_video rta.video;
begin
  select tenant_id, id, environment, avatar_id, text, audio_asset_id, voice_id, status, progress, asset_id, duration_ms, billed_seconds,
    billed_credit_micros, reserved_credit_micros, session_id, api_key_id, error_code, error_detail, warnings, metadata, version,
    created_at, updated_at
  into v_video from public.videos
  where tenant_id = p_tenant_id and environment = p_environment and id = p_id
  for no key update;
  return v_video;
end $$;
