-- Ends the recordings of a call. A recording with a file in `p_files` is ready; any other has failed with
-- `p_error_code`. The fragments are no longer needed. The same applies to a file whose recording was deleted during the
-- joining. Sends `recording.ready` or `recording.failed` for each. Lock order: the row of the call in call_recordings,
-- which the calling function has locked; the recordings by primary key; the events.
create function rta.end_recordings(
  p_tenant_id text,
  p_session_id text,
  p_files rta.recording_file[],
  p_error_code text
) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_ids text[] := array(
    select id from public.recordings
    where tenant_id = p_tenant_id and session_id = p_session_id and status in ('pending', 'recording', 'processing')
    order by id for no key update
  );
  v_events rta.event[];
begin
  update public.recordings recording set
    status = 'ready', key = file.key, size_bytes = file.size_bytes, duration_ms = file.duration_ms,
    media_started_at = file.media_started_at, media_ended_at = file.media_ended_at
  from unnest(p_files) file
  where recording.tenant_id = p_tenant_id and recording.id = file.id and recording.id = any (v_ids);
  update public.recordings set status = 'failed', error_code = p_error_code
  where tenant_id = p_tenant_id and id = any (v_ids) and status <> 'ready';
  insert into public.unneeded_files (tenant_id, key, created_at)
  select p_tenant_id, file.key, v_now from unnest(p_files) file where file.id <> all (v_ids);
  perform rta.forget_fragments(p_tenant_id, p_session_id);
  select array_agg(
    row(tenant_id, environment, /* type */ 'recording.' || status, /* target_id */ id, /* created_at */ v_now)::rta.event order by id
  ) into v_events
  from public.recordings where tenant_id = p_tenant_id and id = any (v_ids);
  perform rta.emit_events(v_events);
end $$;
