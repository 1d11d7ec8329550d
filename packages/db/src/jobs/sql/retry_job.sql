-- Gives a job back after a failed attempt. The job can be claimed again after `p_delay_ms`. `p_max_attempts` is null
-- when the worker hands the job back because it stops; then the attempt does not count. Returns the outcome:
--   'retried'
--   'exhausted'  it was claimed `p_max_attempts` times: the job is deleted, and its target has failed, with `p_detail` and the
--                audit event
--   'lost'       the lease is lost (end_job)
-- Lock order: the target, the job, the slot, the meter of an asset; for a video, its session and counters (end_videos).
create function rta.retry_job(
  p_job rta.job,
  p_lease text,
  p_error text,
  p_delay_ms integer,
  p_max_attempts integer,
  p_detail text,
  p_audit_event rta.audit_event, -- null for a video: no event is written
  p_request_id text
) returns text
language plpgsql as $$
declare
  v_asset rta.asset;
  v_avatar rta.avatar;
  v_video rta.video;
  v_outcome text;
begin
  if p_job.kind = 'process_asset' then
    v_asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
    v_outcome := rta.end_attempt(p_job, p_lease, p_error, p_delay_ms, p_max_attempts);
    perform rta.stop_asset(v_asset, v_outcome, p_detail, p_audit_event);
  elsif p_job.kind = 'render_video' then
    v_video := rta.lock_video(p_job.tenant_id, p_job.environment, p_job.target_id);
    v_outcome := rta.end_attempt(p_job, p_lease, p_error, p_delay_ms, p_max_attempts);
    perform rta.stop_video(v_video, v_outcome, 'internal', p_detail, p_request_id);
  else
    v_avatar := rta.lock_avatar(p_job.tenant_id, p_job.environment, p_job.target_id);
    v_outcome := rta.end_attempt(p_job, p_lease, p_error, p_delay_ms, p_max_attempts);
    if v_outcome = 'exhausted' then
      perform rta.end_preparation(
        v_avatar, p_job, row('failed', /* error */ p_detail, '[]', null, null, null)::rta.preparation_result, p_audit_event
      );
    end if;
  end if;
  return v_outcome;
end $$;
