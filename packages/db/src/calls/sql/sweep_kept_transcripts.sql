-- Deletes up to `p_limit` kept transcripts of calls that ended before `p_before`, the oldest first, and returns their
-- number. Lock order: the transcripts (skip locked), each with its segments.
create function rta.sweep_kept_transcripts(p_before timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_old record;
  v_count integer := 0;
begin
  for v_old in
    select tenant_id, session_id from public.call_transcripts
    where is_kept and ended_at is not null and ended_at < p_before
    order by ended_at limit p_limit
    for no key update skip locked
  loop
    perform rta.forget_transcript(v_old.tenant_id, v_old.session_id);
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;
