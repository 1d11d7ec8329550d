-- An event of a resource, for the endpoints that select its type (emit_events).
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

-- New values for an endpoint. Only the fields whose API names are in `fields` change.
create type rta.webhook_endpoint_change as (
  fields text[],
  url text,
  description text,
  events text[],
  ordered boolean,
  status text
);

-- A delivery that a worker sends, with its content and its target.
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
  previous_secret bytea      -- sealed; null when it no longer signs
);

-- The outcome of a claimed delivery.
create type rta.finished_delivery as (
  tenant_id text collate "C",
  id text collate "C",
  lease text,
  attempt_count integer,     -- the count at the claim
  attempt json,              -- DeliveryAttempt; null: nothing was sent
  outcome text,              -- 'delivered', 'retry', 'failed', or 'gone': the receiver responded with 410
  delay_ms bigint,           -- for 'retry': the time until the next attempt
  slow_ms bigint             -- the pause for the endpoint; null: no pause
);

-- An event to write, with its id, its place among the events of its target, and the endpoints that select it.
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
