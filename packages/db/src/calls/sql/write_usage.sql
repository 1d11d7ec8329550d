-- Adds the usage of calls since their last report to the sums of their tenants, on the present day in UTC. Each number
-- of a call only grows, and each growth is added once, so a late or repeated report adds nothing. A call that has ended
-- and has no slot also counts, because its worker learns of the end later. Reports of earlier generations do not count.
-- Lock order: the calls by primary key, then the sums by primary key. The calling function waits for counters only
-- afterwards.
create function rta.write_usage(p_usage rta.reported_usage[]) returns void
language plpgsql as $$
declare
  v_day date := (date_trunc('milliseconds', clock_timestamp()) at time zone 'UTC')::date;
  v_used record;
  v_sum record;
  v_growths rta.usage_growth[] := '{}';
begin
  for v_used in
    select call.tenant_id, call.session_id, session.environment, used.input_tokens, used.output_tokens, used.estimated_tokens,
      used.heard_seconds, used.spoken_characters, call.input_tokens as input_before, call.output_tokens as output_before,
      call.estimated_tokens as estimated_before, call.heard_seconds as heard_before, call.spoken_characters as spoken_before
    from (select distinct on (session_id, generation) * from unnest(p_usage)) used
    join public.calls call on call.session_id = used.session_id and call.generation = used.generation
    join public.usage_sessions session on session.tenant_id = call.tenant_id and session.id = call.session_id
    where used.input_tokens > call.input_tokens or used.output_tokens > call.output_tokens
      or used.estimated_tokens > call.estimated_tokens or used.heard_seconds > call.heard_seconds
      or used.spoken_characters > call.spoken_characters
    order by call.tenant_id, call.session_id
    for no key update of call
  loop
    v_growths := v_growths || row(
      v_used.tenant_id, v_used.session_id, v_used.environment,
      /* input_tokens */ greatest(v_used.input_tokens - v_used.input_before, 0),
      /* output_tokens */ greatest(v_used.output_tokens - v_used.output_before, 0),
      /* estimated_tokens */ greatest(v_used.estimated_tokens - v_used.estimated_before, 0),
      /* heard_seconds */ greatest(v_used.heard_seconds - v_used.heard_before, 0),
      /* spoken_characters */ greatest(v_used.spoken_characters - v_used.spoken_before, 0)
    )::rta.usage_growth;
  end loop;
  if cardinality(v_growths) = 0 then
    return;
  end if;
  update public.calls call set
    input_tokens = call.input_tokens + growth.input_tokens, output_tokens = call.output_tokens + growth.output_tokens,
    estimated_tokens = call.estimated_tokens + growth.estimated_tokens,
    heard_seconds = call.heard_seconds + growth.heard_seconds,
    spoken_characters = call.spoken_characters + growth.spoken_characters
  from unnest(v_growths) growth
  where call.tenant_id = growth.tenant_id and call.session_id = growth.session_id;
  for v_sum in
    select growth.tenant_id, growth.environment, sum(growth.input_tokens)::bigint as input_tokens,
      sum(growth.output_tokens)::bigint as output_tokens, sum(growth.estimated_tokens)::bigint as estimated_tokens,
      sum(growth.heard_seconds)::bigint as heard_seconds, sum(growth.spoken_characters)::bigint as spoken_characters
    from unnest(v_growths) growth group by 1, 2 order by 1, 2
  loop
    insert into public.conversation_usage as used (
      tenant_id, environment, day, input_tokens, output_tokens, estimated_tokens, heard_seconds, spoken_characters
    ) values (
      v_sum.tenant_id, v_sum.environment, v_day, v_sum.input_tokens, v_sum.output_tokens, v_sum.estimated_tokens,
      v_sum.heard_seconds, v_sum.spoken_characters
    )
    on conflict (tenant_id, day, environment) do update set
      input_tokens = used.input_tokens + excluded.input_tokens, output_tokens = used.output_tokens + excluded.output_tokens,
      estimated_tokens = used.estimated_tokens + excluded.estimated_tokens,
      heard_seconds = used.heard_seconds + excluded.heard_seconds,
      spoken_characters = used.spoken_characters + excluded.spoken_characters;
  end loop;
end $$;
