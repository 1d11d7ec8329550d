-- Expires up to `p_limit` recordings whose retention has ended (`retained_until`), the oldest first. Their files are no
-- longer needed. Also deletes up to `p_limit` recordings whose retention ended a week ago. Returns the number of changed
-- recordings. Lock order: the recordings. A locked row is skipped without waiting.
create function rta.sweep_recordings(p_limit integer) returns integer
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_long_before timestamptz := v_now - interval '168 hours';
  v_old record;
  v_count integer := 0;
begin
  for v_old in
    select tenant_id, id, key from public.recordings
    where status in ('ready', 'failed') and retained_until <= v_now
    order by retained_until limit p_limit
    for no key update skip locked
  loop
    if v_old.key is not null then
      insert into public.unneeded_files (tenant_id, key, created_at) values (v_old.tenant_id, v_old.key, v_now);
    end if;
    update public.recordings set status = 'expired', key = null, size_bytes = null, duration_ms = null, error_code = null
    where tenant_id = v_old.tenant_id and id = v_old.id;
    v_count := v_count + 1;
  end loop;
  for v_old in
    select tenant_id, id from public.recordings
    where status = 'expired' and retained_until <= v_long_before
    order by retained_until limit p_limit
    for update skip locked
  loop
    delete from public.recordings where tenant_id = v_old.tenant_id and id = v_old.id;
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
