-- Cancels a video that is queued or rendered: its job is deleted, so that its worker stops, and it is charged nothing.
-- Deletes any other video, with its text and the asset of its file. Returns the outcome, the video after that, and the
-- asset whose files must be deleted:
--   'written'
--   'unchanged'  nothing is written: it is already deleted, or has a version that the deletion does not accept
--   'not_own'    nothing is written: it does not belong to the caller's lineage, and the caller does not manage files
--   (`p_manages`)
--   'in_use'     nothing is written: an avatar that is not deleted is built from its file
--   'not_found'  no such video exists
--   'stale'      nothing is written: the caller has changed since its look-up
--
-- Lock order: the caller (lock_caller), the video, the asset, its meter; for a canceled video the job, then see
-- end_videos.
create function rta.delete_video(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_versions text[], -- the versions that the deletion accepts; null: every version
  p_manages boolean,
  p_audit_event rta.audit_event -- the event of the asset's deletion, without its target
) returns table (outcome text, video rta.video, deleted_asset_id text)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_video rta.video;
  v_asset rta.asset;
  v_new rta.asset;
  v_refusal text;
  v_is_own boolean;
begin
  if v_valid_until is not null then
    v_video := rta.lock_video(p_caller.tenant_id, p_environment, p_id);
    v_is_own := p_manages or exists (
      select from public.usage_sessions session
      where session.tenant_id = v_video.tenant_id and session.id = v_video.session_id and p_caller.id = any (session.lineage)
    );
  end if;
  v_refusal := case
    when v_valid_until is null or v_valid_until <= clock_timestamp() then 'stale'
    when v_video.id is null then 'not_found'
    when not v_is_own then 'not_own'
    when v_video.status = 'deleted' or v_video.version::text <> all (p_versions) then 'unchanged'
  end;
  if v_refusal is not null then
    return query select v_refusal, v_video, null::text;
    return;
  end if;
  if v_video.status in ('queued', 'rendering') then
    perform rta.delete_job_of(v_video.tenant_id, v_video.id);
    -- A person has no meter, so the closer of the session is the service, with the reason that a user ended it.
    v_video := (rta.end_videos(
      array[v_video], array[row('canceled', null, null, null, null)::rta.video_result], array[0],
      case when p_caller.session_id is null then p_caller.id else 'sweep' end,
      case when p_caller.session_id is not null then 'user_ended' end, p_audit_event.request_id
    ))[1];
    return query select 'written', v_video, null::text;
    return;
  end if;

  if v_video.asset_id is not null then
    perform from public.assets
    where tenant_id = p_caller.tenant_id and environment = p_environment and id = v_video.asset_id
    for update;
    v_asset := rta.lock_asset(p_caller.tenant_id, p_environment, v_video.asset_id);
  end if;
  if v_asset.status = 'ready' then
    if exists (
      select from public.avatars
      where tenant_id = p_caller.tenant_id and source_asset_id = v_asset.id and status <> 'deleted'
    ) or exists (
      select from public.avatars
      where tenant_id = p_caller.tenant_id and pending_source_asset_id = v_asset.id and status <> 'deleted'
    ) then
      return query select 'in_use', v_video, null::text;
      return;
    end if;
    v_new := v_asset;
    v_new.status := 'deleted';
    v_new.updated_at := p_audit_event.created_at;
    p_audit_event.target_id := v_asset.id;
    perform rta.change_asset(v_asset, v_new, p_audit_event);
  end if;
  v_video.status := 'deleted';
  v_video.text := null;
  return query select 'written', rta.change_video(v_video), v_new.id;
end $$;
