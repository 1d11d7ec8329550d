-- Whether a fragment can be stored (accept_fragment), and its tenant (null: 'foreign'). Reads without locks before the
-- bytes are stored: write_fragment decides.
create function rta.find_fragment_owner(
  p_worker_id text,
  p_session_id text,
  p_generation integer,
  p_n integer,
  p_size_bytes integer,
  p_max_bytes bigint,
  out tenant_id text,
  out outcome text
)
language plpgsql stable as $$
declare
  v_recording public.call_recordings;
begin
  select * into v_recording from public.call_recordings recording where recording.session_id = p_session_id;
  tenant_id := v_recording.tenant_id;
  outcome := rta.accept_fragment(v_recording, p_worker_id, p_generation, p_n, p_size_bytes, p_max_bytes);
end $$;
