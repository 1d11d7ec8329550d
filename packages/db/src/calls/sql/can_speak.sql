-- Whether a worker has the voice and the model that a call names (null: it names none). True for a worker of the
-- previous release and for one without conversations: they report no voices, and the grant lists unusable fields in
-- `ignored`. False for a worker with conversations that has not reported yet.
create function rta.can_speak(
  p_features text[], p_voices text[], p_models text[], p_voice_id text, p_model text
) returns boolean
language sql immutable as $$
  select (p_voice_id is null or coalesce(p_voice_id = any (p_voices), not 'conversation' = any (p_features)))
    and (p_model is null or coalesce(p_model = any (p_models), not 'conversation' = any (p_features)))
$$;
