-- Sends `video.ready` or `video.failed` for videos that have become ready or failed. The calling function has locked
-- the videos, so their events cause no wait (emit_events).
create function rta.emit_video_events(p_videos rta.video[]) returns void
language plpgsql as $$
begin
  perform rta.emit_events(array(
    select row(tenant_id, environment, /* type */ 'video.' || status, /* target_id */ id, /* created_at */ updated_at)::rta.event
    from unnest(p_videos) where status in ('ready', 'failed')
  ));
end $$;
