-- Changes an asset at the end of an attempt that has not finished its work. After `p_outcome` 'retried', a 'processing'
-- asset is 'uploaded' again. After 'exhausted', the asset has failed with the code 'internal' and `p_detail`, with an
-- audit event. Lock order: the calling function has locked the asset; then the meter (change_asset).
create function rta.stop_asset(p_old rta.asset, p_outcome text, p_detail text, p_audit_event rta.audit_event) returns void
language plpgsql as $$
declare
  v_new rta.asset := p_old;
begin
  if p_outcome = 'retried' and p_old.status = 'processing' then
    v_new.status := 'uploaded';
    v_new.updated_at := date_trunc('milliseconds', clock_timestamp());
    perform rta.change_asset(p_old, v_new, null);
  elsif p_outcome = 'exhausted' and p_old.status in ('pending_upload', 'uploaded', 'processing') then
    v_new.status := 'failed';
    v_new.error_code := 'internal';
    v_new.error_detail := p_detail;
    v_new.updated_at := p_audit_event.created_at;
    perform rta.change_asset(p_old, v_new, p_audit_event);
  end if;
end $$;
