-- The avatar with the new values of a change, but for its source: see change_source.
create function rta.changed_avatar(p_avatar rta.avatar, p_change rta.avatar_change) returns rta.avatar
language plpgsql immutable as $$
begin
  if 'displayName' = any (p_change.fields) then p_avatar.display_name := p_change.display_name; end if;
  if 'modelId' = any (p_change.fields) then p_avatar.model_id := p_change.model_id; end if;
  if 'defaultVoiceId' = any (p_change.fields) then p_avatar.default_voice_id := p_change.default_voice_id; end if;
  if 'settings' = any (p_change.fields) then p_avatar.settings := p_change.settings; end if;
  if 'metadata' = any (p_change.fields) then p_avatar.metadata := p_change.metadata; end if;
  if 'status' = any (p_change.fields) then p_avatar.status := p_change.status; end if;
  return p_avatar;
end $$;
