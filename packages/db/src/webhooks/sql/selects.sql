-- Whether an endpoint that selects `p_events`, types and groups of them, gets events of `p_type`. Null selects all. The
-- same rule as `selectsEvent` of the domain.
create function rta.selects(p_events text[], p_type text) returns boolean
language sql immutable as $$
  select p_events is null or p_events && array[p_type, split_part(p_type, '.', 1) || '.*']
$$;
