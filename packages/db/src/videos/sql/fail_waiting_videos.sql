-- Fails videos that no worker has finished within `p_max_hours` since they were created, with the code 'no_capacity':
-- they are charged nothing. A video that a worker renders now does not fail. Returns the number of failed videos.
-- Locked videos are skipped. Lock order: videos (skip locked), their jobs, then see end_videos.
create function rta.fail_waiting_videos(p_limit integer, p_max_hours integer, p_detail text, p_request_id text) returns integer
language plpgsql as $$
declare
  v_now constant timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_waiting record;
  v_videos rta.video[] := '{}';
  v_leased_until timestamptz;
begin
  for v_waiting in
    select tenant_id, environment, id from public.videos
    where status in ('queued', 'rendering') and created_at <= v_now - make_interval(hours => p_max_hours)
    order by created_at limit p_limit
    for no key update skip locked
  loop
    select leased_until into v_leased_until from public.jobs
    where tenant_id = v_waiting.tenant_id and target_id = v_waiting.id and kind = 'render_video'
    for update;
    continue when v_leased_until > v_now;
    perform rta.delete_job_of(v_waiting.tenant_id, v_waiting.id);
    v_videos := v_videos || rta.lock_video(v_waiting.tenant_id, v_waiting.environment, v_waiting.id);
  end loop;
  if cardinality(v_videos) > 0 then
    perform rta.end_videos(
      v_videos,
      array(
        select row('failed', null, null, /* error_code */ 'no_capacity', /* error_detail */ p_detail)::rta.video_result from unnest(v_videos)
      ),
      array_fill(0::bigint, array[cardinality(v_videos)]), 'sweep', 'failed', p_request_id
    );
  end if;
  return cardinality(v_videos);
end $$;
