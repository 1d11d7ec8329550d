/** Faults that the tests of people must find, each a change of the text of the database functions: see `mutate`. */

export const PEOPLE_MUTATIONS = {
  "a write of a person that does not read the session again": [
    "select least(expires_at, case when p_caller.needs_passkey then verified_until end) into v_valid_until\n    from public.user_sessions\n    where tenant_id = p_caller.tenant_id and id = p_caller.session_id and user_id = p_caller.id\n    for share skip locked;",
    "v_valid_until := 'infinity';",
  ],
  "a write of a person whose role is not read again": [
    "id = p_caller.id and version = p_caller.version\n    for share",
    "id = p_caller.id\n    for share",
  ],
  "a write that ignores when the passkey was used": [
    "least(expires_at, case when p_caller.needs_passkey then verified_until end)",
    "expires_at",
  ],
  "an invitation that is not spent": [
    "    delete from public.invitations where tenant_id = p_invitation.tenant_id and id = p_invitation.id;\n",
    "",
  ],
  "an invitation without a lock": [
    ["tenant_id = p_invitation.tenant_id and id = p_invitation.id\n  for update;", "false;"],
    [
      "id = p_invitation.user_id\n    for no key update;\n    perform rta.lock_user_sessions(p_invitation.tenant_id, p_invitation.user_id);",
      "false;",
    ],
  ],
  "a challenge that is not spent": [
    "on conflict do nothing;\n  return found;",
    "on conflict do nothing;\n  return true;",
  ],
  "two owners who demote themselves": ["where p_owners and tenant_id", "where false and tenant_id"],
  "sessions of a person without a bound": ["offset p_max_sessions - 1", "offset 1000000"],
} as const;
