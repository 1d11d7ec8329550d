-- Frees the slot that a claim has taken, unless another claim has taken it since.
create function rta.free_slot(p_tenant_id text, p_lease text) returns void
language plpgsql as $$
begin
  update public.job_slots set lease = null, leased_until = null where tenant_id = p_tenant_id and lease = p_lease;
end $$;
