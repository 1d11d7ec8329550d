-- Returns the input of a preparation's job: one row, with the avatar when there is work:
--   'started'       the source can be examined
--   'asset_failed'  the source asset has failed, with `detail`; null when the avatar has no source
--   'waiting'       the source asset has not arrived: the job is given back, and this attempt does not count. The job is due again after 250 ms, or after a quarter of its age if that is more
--   'gone'          no work is left: the lease is lost, the avatar is deleted, or another generation is prepared. A job that still exists is deleted: a replica of a version without preparations deletes an avatar but not its job
--
-- Lock order: the job, then the slot (give_back_job, end_job). The avatar and the asset are only read:
-- finish_preparation finds a later change.
create function rta.start_preparation(p_job rta.job, p_lease text)
returns table (outcome text, detail text, avatar rta.avatar)
language plpgsql as $$
declare
  v_avatar rta.avatar;
  v_asset record;
  v_age interval;
begin
  select clock_timestamp() - created_at into v_age from public.jobs
  where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease;
  if v_age is not null then
    -- See lock_avatar.
    select known.* into v_avatar from public.avatars stored
    cross join lateral json_populate_record(null::rta.avatar, row_to_json(stored)) known
    where stored.tenant_id = p_job.tenant_id and stored.id = p_job.target_id and stored.generation = p_job.generation
      and stored.status in ('preprocessing', 'ready', 'disabled');
  end if;
  if v_avatar.id is null then
    perform rta.end_job(p_job, p_lease);
    return query select 'gone', null, null::rta.avatar;
    return;
  end if;

  if coalesce(v_avatar.pending_source_asset_id, v_avatar.source_asset_id) is null then
    return query select 'asset_failed', null, v_avatar;
    return;
  end if;
  select status, error_detail into v_asset from public.assets
  where tenant_id = v_avatar.tenant_id and environment = v_avatar.environment
    and id = coalesce(v_avatar.pending_source_asset_id, v_avatar.source_asset_id);
  if v_asset.status = 'failed' then
    return query select 'asset_failed', v_asset.error_detail, v_avatar;
  elsif v_asset.status in ('pending_upload', 'uploaded', 'processing') then
    return query select
      case when rta.give_back_job(p_job, p_lease, greatest(interval '250 ms', v_age / 4), null, false) then 'waiting'
        else 'gone' end,
      null, null::rta.avatar;
  else
    return query select 'started', null, v_avatar;
  end if;
end $$;
