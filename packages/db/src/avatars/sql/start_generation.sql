-- Starts a new preparation of an avatar in place of the running one: deletes the older job and writes a new one, of the
-- next generation. Returns the avatar that the calling function must write. Unless the preparation is in the
-- background, its status is 'preprocessing', and the error and the checks of the previous preparation are cleared.
-- Lock order: the calling function has locked the avatar; then its job.
create function rta.start_generation(p_avatar rta.avatar, p_is_background boolean, p_job_id text) returns rta.avatar
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  perform rta.delete_job_of(p_avatar.tenant_id, p_avatar.id);
  p_avatar.generation := p_avatar.generation + 1;
  if not p_is_background then
    p_avatar.status := 'preprocessing';
    p_avatar.error := null;
    p_avatar.checks := '[]';
  end if;
  insert into public.jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
  values (
    p_avatar.tenant_id, p_job_id, p_avatar.environment, 'prepare_avatar', /* target_id */ p_avatar.id, p_avatar.generation, v_now, v_now
  );
  return p_avatar;
end $$;
