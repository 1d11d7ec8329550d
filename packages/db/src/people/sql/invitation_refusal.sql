-- The refusal of an invitation's acceptance, as accept_invitation returns it; null: it may be accepted. The calling
-- function has locked the invitation, and its user or its creator.
create function rta.invitation_refusal(
  p_invitation rta.invitation, -- as returned by its look-up
  p_has_passkey boolean,       -- whether it is accepted with a passkey
  p_has_identity boolean,      -- whether it is accepted with an identity
  p_max_passkeys bigint,
  p_max_identities bigint
) returns text
language plpgsql as $$
declare
  -- Null when the invitation no longer exists.
  v_expires_at timestamptz := (
    select stored.expires_at from public.invitations stored
    where stored.tenant_id = p_invitation.tenant_id and stored.id = p_invitation.id
      and stored.digest = p_invitation.digest and stored.email = p_invitation.email and stored.role = p_invitation.role
      and stored.user_id is not distinct from p_invitation.user_id
      and stored.created_by is not distinct from p_invitation.created_by
  );
begin
  if (v_expires_at > clock_timestamp()) is not true
    or not rta.may_accept(p_invitation.tenant_id, p_invitation.user_id, p_invitation.created_by)
  then
    return 'invalid_invitation';
  end if;
  return case
    when p_has_passkey and (
      select count(*) from public.passkeys
      where tenant_id = p_invitation.tenant_id and user_id = p_invitation.user_id
    ) >= p_max_passkeys then 'over_quota'
    when p_has_identity and (
      select count(*) from public.user_identities
      where tenant_id = p_invitation.tenant_id and user_id = p_invitation.user_id
    ) >= p_max_identities then 'over_quota'
  end;
end $$;
