-- Ends videos that are running, each as `p_results` says: closes their usage sessions, charges them `p_charged`, and
-- sends the events. A session that has already ended (by the sweep or the operator) is unchanged, and its video gets
-- its charge. Returns the videos. Lock order: the calling function has locked the videos and their jobs; then the
-- sessions by primary key, their meters and accounts (lock_counters), the events of sessions, those of videos.
create function rta.end_videos(
  p_videos rta.video[],
  p_results rta.video_result[],
  p_charged bigint[],     -- for each video, in credit micros
  p_closed_by text,
  p_reason text,          -- the reason for which the sessions end
  p_request_id text
) returns rta.video[]
language plpgsql as $$
declare
  v_sessions public.usage_sessions[] := array(
    select session from public.usage_sessions session
    where (session.tenant_id, session.id) in (select video.tenant_id, video.session_id from unnest(p_videos) video)
    order by session.tenant_id, session.id
    for no key update
  );
  v_now timestamptz;
  v_closings rta.closing[] := '{}';
  v_closing rta.closing;
  v_session public.usage_sessions;
  v_price bigint;
  v_videos rta.video[] := '{}';
  v_video rta.video;
begin
  for v_at in 1 .. cardinality(p_videos) loop
    select * into v_session from unnest(v_sessions) session
    where session.tenant_id = p_videos[v_at].tenant_id and session.id = p_videos[v_at].session_id;
    v_now := date_trunc('milliseconds', clock_timestamp());
    if v_session.id is not null and v_session.ended_at is null then
      v_closing := rta.closing_of(
        v_session, p_closed_by, p_reason, 'ent_' || rta.new_id(v_now), 'ent_' || rta.new_id(v_now), p_request_id
      );
      v_closing.charged := least(v_session.reserved, p_charged[v_at]);
      v_closing.rest := 'release';
      v_closing.status := case p_results[v_at].status when 'failed' then 'failed' else 'released' end;
      v_closings := v_closings || v_closing;
    end if;
    v_video := p_videos[v_at];
    v_video.status := p_results[v_at].status;
    v_video.duration_ms := p_results[v_at].duration_ms;
    v_video.progress := case v_video.status when 'ready' then 1 else v_video.progress end;
    v_video.warnings := (v_video.warnings || coalesce(p_results[v_at].warnings, '{}'))[1:16];
    v_video.error_code := p_results[v_at].error_code;
    v_video.error_detail := p_results[v_at].error_detail;
    v_video.billed_credit_micros := case
      when v_session.id is null then 0 when v_session.ended_at is null then v_closing.charged else v_session.used
    end;
    v_price := coalesce(v_session.price, 1);
    v_video.billed_seconds := (v_video.billed_credit_micros + v_price - 1) / v_price;
    v_videos := v_videos || v_video;
  end loop;
  if cardinality(v_closings) > 0 then
    perform rta.lock_counters(v_closings);
    perform rta.close_sessions(v_closings, clock_timestamp());
  end if;
  for v_at in 1 .. cardinality(v_videos) loop
    v_videos[v_at] := rta.change_video(v_videos[v_at]);
  end loop;
  perform rta.emit_video_events(v_videos);
  return v_videos;
end $$;
