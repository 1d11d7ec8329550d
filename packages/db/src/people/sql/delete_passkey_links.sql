-- Deletes the link with which a user registers a further passkey, if it exists. Lock order: the invitation.
create function rta.delete_passkey_links(p_tenant_id text, p_user_id text) returns void
language plpgsql as $$
declare
  v_email text;
begin
  select email into v_email from public.users where tenant_id = p_tenant_id and id = p_user_id;
  -- By the address, which has an index.
  delete from public.invitations where tenant_id = p_tenant_id and email = v_email and user_id = p_user_id;
end $$;
