-- Deletes up to `p_limit` connection histories that were last changed before `p_before`, the oldest first, and returns
-- their number. Lock order: the histories (skip locked).
create function rta.sweep_connection_histories(p_before timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_count integer;
begin
  delete from public.connection_histories where ctid = any (array(
    select ctid from public.connection_histories where updated_at < p_before
    order by updated_at limit p_limit for update skip locked
  ));
  get diagnostics v_count = row_count;
  return v_count;
end $$;
