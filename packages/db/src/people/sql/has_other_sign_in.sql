-- Whether a user can still sign in without the passkey or the identity `p_id`: by another passkey, or by another
-- identity of the issuer in use. `p_issuer` null: no provider is in use, so no identity counts.
create function rta.has_other_sign_in(p_tenant_id text, p_user_id text, p_id text, p_issuer text) returns boolean
language sql stable as $$
  select exists (
    select from public.passkeys where tenant_id = p_tenant_id and user_id = p_user_id and id <> p_id
  ) or exists (
    select from public.user_identities
    where tenant_id = p_tenant_id and user_id = p_user_id and id <> p_id and issuer = p_issuer
  );
$$;
