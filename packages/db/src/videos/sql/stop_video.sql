-- Changes a video after an attempt that has failed. After `p_outcome` 'retried', it is queued again; after
-- 'exhausted', it has failed with `p_code` and `p_detail`, and is charged nothing.
-- Lock order: the calling function has locked the video and its job; then see end_videos.
create function rta.stop_video(p_video rta.video, p_outcome text, p_code text, p_detail text, p_request_id text) returns void
language plpgsql as $$
begin
  if p_outcome = 'retried' and p_video.status = 'rendering' then
    p_video.status := 'queued';
    p_video.progress := 0;
    perform rta.change_video(p_video);
  elsif p_outcome = 'exhausted' and p_video.status in ('queued', 'rendering') then
    perform rta.end_videos(
      array[p_video], array[row('failed', null, null, /* error_code */ p_code, /* error_detail */ p_detail)::rta.video_result],
      array[0], 'sweep', 'failed', p_request_id
    );
  end if;
end $$;
