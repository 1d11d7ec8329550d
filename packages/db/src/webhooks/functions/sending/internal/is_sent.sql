-- Whether an endpoint that selects `p_events` gets an event of `p_type` at its next attempt. A test is for one endpoint, which gets
-- it whatever it selects.
create function rta.is_sent(p_events text[], p_type text) returns boolean
language sql immutable as $$
  select rta.selects(p_events, p_type) or p_type = 'webhook_endpoint.test'
$$;
