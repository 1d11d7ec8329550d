-- Whether an endpoint that selects `p_events` (types and groups; null: all) gets events of a type. A test is for one endpoint,
-- which gets it whatever it selects.
create function rta.selects_event(p_events text[], p_type text) returns boolean
language sql immutable as $$
  select p_events is null or p_type = any (p_events) or split_part(p_type, '.', 1) || '.*' = any (p_events)
    or p_type = 'webhook_endpoint.test'
$$;
