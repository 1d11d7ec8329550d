-- The id of the delivery of an event to the endpoint with the number `p_at` of those that it is sent to: that of the event, but for the last
-- digit. There are at most 16 endpoints.
create function rta.delivery_id(p_event_id text, p_at bigint) returns text
language sql immutable as $$
  select 'whd_' || substr(p_event_id, 5, 25) || to_hex(p_at - 1)
$$;
