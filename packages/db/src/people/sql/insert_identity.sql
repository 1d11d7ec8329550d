-- Writes an identity.
create function rta.insert_identity(p_identity rta.identity) returns void
language plpgsql as $$
begin
  insert into public.user_identities (tenant_id, id, user_id, issuer, subject, created_at, last_used_at)
  values (p_identity.*);
end $$;
