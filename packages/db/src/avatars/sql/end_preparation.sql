-- Writes the result of a preparation to its avatar, with the audit event. Returns false and changes nothing when the
-- avatar is deleted or another generation is prepared.
--
-- 'ready': an avatar that is 'preprocessing' is 'ready', and the source that was prepared is served. 'failed': such an
-- avatar is 'failed'. A 'ready' or 'disabled' avatar keeps its status. After a failure it keeps its current source.
-- Lock order: the calling function has locked the avatar.
create function rta.end_preparation(
  p_old rta.avatar,
  p_job rta.job,
  p_result rta.preparation_result,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
declare
  v_new rta.avatar := p_old;
begin
  if (p_old.generation = p_job.generation and p_old.status in ('preprocessing', 'ready', 'disabled')) is not true then
    return false;
  end if;
  if p_old.status = 'preprocessing' then
    v_new.status := p_result.status;
  end if;
  v_new.pending_source_asset_id := null;
  v_new.error := p_result.error;
  v_new.checks := p_result.checks;
  if p_result.status = 'ready' then
    v_new.source_asset_id := coalesce(p_old.pending_source_asset_id, p_old.source_asset_id);
    v_new.cache_manifest_id := p_result.cache_manifest_id;
    v_new.cache_version := p_old.cache_version + 1;
    v_new.preview_token := p_result.preview_token;
    v_new.preview_file := p_result.preview_file;
  end if;
  perform rta.change_avatar(p_old, v_new, p_audit_event);
  return true;
end $$;
