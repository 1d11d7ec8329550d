-- What a request to open a session has beside it when it starts a call.
create type rta.call_request as (
  mode text,
  room_name text,
  input json,
  max_seconds integer,  -- that were asked for; the session may hold credits for less
  default_limit integer, -- the maximum of a tenant for which the operator has set none
  ticket_id text,       -- that the request names; null when it names none
  new_ticket_id text,   -- the id of its ticket, if it gets a new one
  fingerprint text,
  is_queued boolean,    -- a test asks for it: it is queued twice, although a slot may be free
  awaits_agent boolean, -- an agent is dispatched into the room, and brings the avatar
  join_url text,        -- of a room that is not ours; null: the room is created. What follows as well
  join_token bytea,
  token_digest bytea,
  agent_identity text,
  conversation_price bigint, -- of a second, at a worker that holds a conversation; null: the call is none at any worker
  voice_id text,        -- that the call names; null when it names none
  model text,           -- the same
  transcript bytea,     -- the receiver of its transcript, sealed; null: it has none
  recording json        -- see insert_recordings; null: it is not recorded
);

-- A slot that is free and locked, and what its worker can do. `voices` and `models`: null when the worker has not reported any.
create type rta.free_slot as (worker_id text, n integer, features text[], voices text[], models text[]);

-- The queue as a batch of requests finds it. `aheads`: for each request, how many tickets are ahead of its own (`ticket_ids`).
-- One without a ticket is behind all.
create type rta.call_queue as (
  slots rta.free_slot[], -- those that the batch can take
  free_slots integer,    -- all that are free
  size integer,          -- live tickets
  turn bigint,           -- whose turn it is: that of the first of them
  ticket_ids text[],
  aheads integer[]
);

-- A call as its worker reports it.
create type rta.reported_call as (
  session_id text, generation integer, state text, used_seconds bigint, reason text,
  -- Null of a worker that cannot move calls.
  room_number integer, gap_count integer, gap_seconds integer,
  lost_processes integer, -- of the call at workers that have their lease; null: the worker does not say
  held_seconds integer -- for how long the call can go on, as the worker was told; null of a worker for which no hold grows
);

-- When and by how much the hold of a call grows, in seconds: `HOLD_GROWTH` of the domain's calls/limits.ts.
create type rta.growth_terms as (ahead_seconds integer, last_seconds integer, step_seconds integer, least_seconds integer);

-- What a conversation has used, as its worker reports it.
create type rta.reported_usage as (
  session_id text, generation integer, input_tokens integer, output_tokens integer, estimated_tokens integer,
  heard_seconds integer, spoken_characters integer
);

-- What a conversation has used in addition since its last report.
create type rta.usage_growth as (
  tenant_id text collate "C", session_id text collate "C", environment text collate "C", input_tokens integer, output_tokens integer,
  estimated_tokens integer, heard_seconds integer, spoken_characters integer
);

-- A turn as its worker reports it.
create type rta.reported_turn as (session_id text, generation integer, turn_id text, status text, heard text);

-- A turn of a program, or an interruption (kind 'interrupt').
create type rta.new_turn as (
  id text,
  session_id text,
  kind text,
  text text,
  instructions text,
  interrupts boolean,
  created_at timestamptz
);

-- A transcript that a worker has claimed, with what is sent.
create type rta.claimed_transcript as (
  tenant_id text,
  session_id text,
  attempt_count integer,
  receiver bytea,
  avatar_id text,
  mode text,
  started_at timestamptz, -- null: nobody has joined the call
  ended_at timestamptz,
  metadata json,
  is_truncated boolean,
  segments text[]         -- in hexadecimal
);
