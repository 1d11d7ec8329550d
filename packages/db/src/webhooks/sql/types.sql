-- Something that has happened to a resource, for the endpoints that select its type (emit_events).
create type rta.event as (
  tenant_id text collate "C",
  environment text collate "C",
  type text,
  target_id text collate "C",
  created_at timestamptz
);

create type rta.webhook_endpoint as (
  tenant_id text,
  id text,
  environment text,
  url text,
  description text,
  events text[],
  ordered boolean,
  status text,
  disabled_reason text,
  secret bytea,
  previous_secret bytea,
  previous_secret_expires_at timestamptz,
  failing_since timestamptz,
  version integer,
  created_at timestamptz,
  updated_at timestamptz
);

-- New values for an endpoint. Only those change whose names in the API are in `fields`.
create type rta.webhook_endpoint_change as (
  fields text[],
  url text,
  description text,
  events text[],
  ordered boolean,
  status text
);

-- A delivery that a worker sends, with what it sends to which place.
create type rta.claimed_delivery as (
  tenant_id text,
  environment text,
  id text,
  endpoint_id text,
  event_id text,
  event_type text,
  target_id text,
  sequence bigint,
  event_created_at timestamptz,
  body text,                 -- null before the first attempt of the event
  attempt_count integer,
  url text,
  secret bytea,              -- sealed
  previous_secret bytea      -- sealed; null when none signs any more
);

-- What became of a delivery that was claimed.
create type rta.finished_delivery as (
  tenant_id text collate "C",
  id text collate "C",
  lease text,
  attempt_count integer,     -- as it was claimed
  attempt json,              -- DeliveryAttempt; null: nothing was sent
  outcome text,              -- 'delivered', 'retry', 'failed', or 'gone': the receiver responded with 410
  delay_ms bigint,           -- of 'retry': until the next attempt
  slow_ms bigint             -- for how long nothing is sent to the endpoint; null: it may be sent
);

-- An event that is to be written, with its id, its place among the events of its target, and the endpoints that select it.
create type rta.numbered_event as (
  tenant_id text collate "C",
  id text collate "C",
  environment text collate "C",
  type text,
  target_id text collate "C",
  sequence bigint,
  created_at timestamptz,
  endpoint_ids text[]
);
