-- Starts the job of a video: the video becomes 'rendering'. Returns one row, whose outcome is:
--   'started'    it can be rendered
--   'must_end'   it must end without an attempt, because of `reason` (video_end)
--   'gone'       no work is left: the lease is lost, or the video has ended. A remaining job is deleted
-- Lock order: the video, then the job and the slot (end_job).
create function rta.start_video(p_job rta.job, p_lease text)
returns table (outcome text, reason text, video rta.video)
language plpgsql as $$
declare
  v_video rta.video := rta.lock_video(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_reason text;
begin
  if v_video.status is null or v_video.status not in ('queued', 'rendering') or not exists (
    select from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
  ) then
    perform rta.end_job(p_job, p_lease);
    return query select 'gone', null, null::rta.video;
    return;
  end if;
  v_reason := rta.video_end(v_video.tenant_id, v_video.session_id);
  if v_reason is not null then
    return query select 'must_end', v_reason, v_video;
    return;
  end if;
  v_video.status := 'rendering';
  v_video.progress := 0;
  return query select 'started', null, rta.change_video(v_video);
end $$;
