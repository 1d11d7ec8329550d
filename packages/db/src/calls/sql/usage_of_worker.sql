-- The usage of a worker's conversations so far, and the number of tokens that their tenants may still use on a day, in
-- both environments together; null without a limit.
create function rta.usage_of_worker(p_worker_id text, p_daily_tokens bigint, p_day date) returns json
language sql stable as $$
  with own as materialized (
    select call.tenant_id, call.session_id, call.generation, call.input_tokens, call.output_tokens, call.estimated_tokens,
      call.heard_seconds, call.spoken_characters
    from fleet.avatar_slots slot
    join public.calls call on call.tenant_id = slot.tenant_id and call.session_id = slot.session_id
    where slot.worker_id = p_worker_id
  ), used as (
    select tenant.tenant_id, coalesce((
      select sum(one.input_tokens + one.output_tokens) from public.conversation_usage one
      where one.tenant_id = tenant.tenant_id and one.day = p_day
    ), 0) as tokens
    from (select distinct tenant_id from own where p_daily_tokens is not null) tenant
  )
  select coalesce(json_agg(json_build_object(
    'sessionId', own.session_id, 'generation', own.generation, 'inputTokens', own.input_tokens, 'outputTokens', own.output_tokens,
    'estimatedTokens', own.estimated_tokens, 'heardSeconds', own.heard_seconds, 'spokenCharacters', own.spoken_characters,
    'tokensLeft', case when p_daily_tokens is not null then greatest(p_daily_tokens - used.tokens, 0) end
  )), '[]')
  from own left join used on used.tenant_id = own.tenant_id
$$;
