-- Records how much of a video is rendered. Returns the reason why the work must stop: 'gone' (the lease is lost, or the
-- video has ended) or the result of video_end; null: the work goes on. Lock order: the video. The job is only read:
-- finish_video finds a lease that is lost later.
create function rta.report_video(p_job rta.job, p_lease text, p_progress real) returns text
language plpgsql as $$
declare
  v_video rta.video := rta.lock_video(p_job.tenant_id, p_job.environment, p_job.target_id);
begin
  if v_video.status is distinct from 'rendering' or not exists (
    select from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
  ) then
    return 'gone';
  end if;
  if p_progress > v_video.progress then
    v_video.progress := p_progress;
    perform rta.change_video(v_video);
  end if;
  return rta.video_end(v_video.tenant_id, v_video.session_id);
end $$;
