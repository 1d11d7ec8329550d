-- Whether events of `p_type` are the first of their target: it has just been made, so there is no place to look up.
create function rta.is_first_event(p_type text) returns boolean
language sql immutable as $$
  select split_part(p_type, '.', 2) in ('created', 'opened')
$$;
