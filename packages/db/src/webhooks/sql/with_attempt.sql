-- The attempts of a delivery with a further one: the newest 20 (MAX_ATTEMPTS_SHOWN), the oldest of them first.
create function rta.with_attempt(p_attempts json, p_attempt json) returns json
language sql immutable as $$
  select ('[' || string_agg(attempt::text, ',' order by place) || ']')::json
  from (
    select attempt, place
    from (
      select attempt, place from json_array_elements(p_attempts) with ordinality stored (attempt, place)
      union all
      select p_attempt, json_array_length(p_attempts) + 1
    ) attempts
    order by place desc limit 20
  ) newest
$$;
