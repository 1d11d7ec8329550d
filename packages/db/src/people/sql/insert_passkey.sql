-- Writes a passkey.
create function rta.insert_passkey(p_passkey rta.passkey) returns void
language plpgsql as $$
begin
  insert into public.passkeys (
    tenant_id, id, user_id, credential_id, public_key, counter, transports, is_backed_up, name, version, created_at,
    last_used_at
  )
  values (p_passkey.*);
end $$;
