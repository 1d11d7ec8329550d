-- Ends the joining of the fragments of a call: their files are no longer needed. Lock order: the row of the call in
-- call_recordings, which the calling function has locked, and the fragments, which are written only under this lock.
create function rta.forget_fragments(p_tenant_id text, p_session_id text) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  -- As `fragmentKey` of the domain's recordings/files.ts.
  with deleted as (
    delete from public.recording_fragments where tenant_id = p_tenant_id and session_id = p_session_id
    returning tenant_id, session_id, generation, n
  )
  insert into public.unneeded_files (tenant_id, key, created_at)
  select tenant_id, 'recordings/' || tenant_id || '/' || session_id || '/' || generation || '-' || n, v_now from deleted;
  delete from public.call_recordings where tenant_id = p_tenant_id and session_id = p_session_id;
end $$;
