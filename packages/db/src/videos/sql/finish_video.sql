-- Ends the job of a video, with the result of its attempt: deletes the job, frees its slot, writes the asset with the
-- file, closes the usage session, and sends the event. A video that must end (video_end) ends for that reason,
-- independent of the result. Returns the new status, 'ready', 'failed' or 'canceled'. Returns 'lost' and leaves the
-- video unchanged when the lease is lost (end_job), or the video has ended. A ready video is charged the seconds of its
-- file, rounded up, at most its hold. Other videos are charged nothing. The video fails with 'quota_exceeded' when its
-- file does not fit into the quota of the tenant. Lock order: the video, the job, the slot, the session and its
-- counters (end_videos), the meter of assets, the events. The quota is read under its lock before the session is
-- closed.
create function rta.finish_video(
  p_job rta.job,
  p_lease text,
  p_result rta.video_result,
  p_asset rta.asset,        -- the asset with the file; null unless the video is ready
  p_max_assets bigint,
  p_max_bytes bigint,
  p_details rta.video_error_details,
  p_request_id text
) returns text
language plpgsql as $$
declare
  v_video rta.video := rta.lock_video(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_end text;
  v_meter public.asset_meters;
  v_price bigint;
begin
  if not rta.end_job(p_job, p_lease) or v_video.status not in ('queued', 'rendering') then
    return 'lost';
  end if;
  -- The session is locked before it is read, so a release that marks it either waits or is found.
  select price into v_price from public.usage_sessions
  where tenant_id = v_video.tenant_id and id = v_video.session_id for no key update;
  v_end := rta.video_end(v_video.tenant_id, v_video.session_id);
  if v_end is not null then
    p_result := row(
      /* status */ case v_end when 'canceled' then 'canceled' else 'failed' end, null, null,
      /* error_code */ case when v_end <> 'canceled' then v_end end, /* error_detail */ case v_end when 'key_ended' then p_details.key_ended when 'session_ended' then p_details.session_ended end
    )::rta.video_result;
  elsif p_result.status = 'ready' then
    v_meter := rta.lock_asset_meter(v_video.tenant_id, v_video.environment);
    if v_meter.assets + 1 > p_max_assets or v_meter.bytes + p_asset.size_bytes > p_max_bytes then
      p_result := row(
        'failed', null, null, /* error_code */ 'quota_exceeded', /* error_detail */ p_details.quota_exceeded
      )::rta.video_result;
    else
      perform rta.insert_generated_asset(p_asset);
      v_video.asset_id := p_asset.id;
    end if;
  end if;
  perform rta.end_videos(
    array[v_video], array[p_result],
    array[case p_result.status when 'ready' then ceil(p_result.duration_ms / 1000.0)::bigint * v_price else 0 end],
    'sweep', case p_result.status when 'ready' then 'released' when 'canceled' then null else coalesce(nullif(v_end, 'session_ended'), 'failed') end,
    p_request_id
  );
  return p_result.status;
end $$;
