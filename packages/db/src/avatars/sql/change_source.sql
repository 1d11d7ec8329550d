-- Starts or ends the preparation of an avatar that changes from `p_old` to `p_new`. `p_source`: the new source of the
-- avatar. Returns the avatar with its source, and with the new generation of a preparation that starts. Deletes the job
-- of the running preparation when another one starts, when its source is replaced, and when the avatar is deleted.
--
-- In a background preparation, the current source stays in service, and the new one is pending until it is ready. When
-- a change sets the current source again, it is prepared again in place of the pending one, because the model may have
-- changed since. Lock order: the calling function has locked the avatar; then its job.
create function rta.change_source(
  p_old rta.avatar,
  p_new rta.avatar,
  p_source text,
  p_rules rta.preparation_rules,
  p_job_id text
) returns rta.avatar
language plpgsql as $$
declare
  v_is_background boolean := p_old.status = any (p_rules.in_background);
  v_latest text := coalesce(p_old.pending_source_asset_id, p_old.source_asset_id);
  v_is_deleted boolean := p_new.status = 'deleted';
  v_starts boolean := not v_is_deleted and p_source is not null and (
    (p_source is distinct from v_latest and p_old.status = any (p_rules.on_source))
    or (p_new.model_id <> p_old.model_id and p_old.status = any (p_rules.on_model))
  );
begin
  if v_is_deleted then
    p_new.pending_source_asset_id := null;
  elsif v_is_background and p_source is not null then
    p_new.pending_source_asset_id := nullif(p_source, p_old.source_asset_id);
  else
    p_new.source_asset_id := p_source;
    p_new.pending_source_asset_id := null;
  end if;
  if v_starts then
    return rta.start_generation(p_new, v_is_background, p_job_id);
  end if;
  if v_is_deleted or p_source is distinct from v_latest then
    perform rta.delete_job_of(p_old.tenant_id, p_old.id);
  end if;
  return p_new;
end $$;
