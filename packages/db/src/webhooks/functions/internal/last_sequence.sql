-- The sequence of the last event of a target; 0 when it has none.
create function rta.last_sequence(p_tenant_id text, p_target_id text) returns bigint
language plpgsql stable as $$
begin
  -- Sorted by all columns: so the server reads one entry of the index, however small the table was when the plan was made.
  return coalesce((
    select sequence from public.webhook_events where tenant_id = p_tenant_id and target_id = p_target_id
    order by tenant_id desc, target_id desc, sequence desc limit 1
  ), 0);
end $$;
