-- The part of a request to open a session that is set when it starts a call.
create type rta.call_request as (
  mode text,
  room_name text,
  input json,
  max_seconds integer,  -- the requested length; the session may hold credits for less
  default_limit integer, -- the maximum for a tenant whose maximum the operator has not set
  ticket_id text,       -- the ticket that the request names; null without one
  new_ticket_id text,   -- the id of its ticket, if it gets a new one
  fingerprint text,
  is_queued boolean,    -- set by a test outcome: the request and its first repetition are queued, even if a slot is free
  awaits_agent boolean, -- whether an agent is dispatched into the room, and brings the avatar
  join_url text,        -- the server of a brought room. This and the next three: null when the service creates the room
  join_token bytea,
  token_digest bytea,
  agent_identity text,
  conversation_price bigint, -- the price of a second at a worker that holds a conversation; null: no conversation
  voice_id text,        -- the voice that the call names; null without one
  model text,           -- the same
  transcript bytea,     -- the receiver of its transcript, sealed; null: it has none
  recording json,       -- see insert_recordings; null: it is not recorded
  has_connection_history boolean
);

-- A free and locked slot, and the features of its worker. `voices` and `models`: null when the worker has not reported
-- any.
create type rta.free_slot as (worker_id text, n integer, features text[], voices text[], models text[]);

-- The needs of a call: features of its worker, a voice and a model. Null: any voice, any model.
create type rta.call_needs as (features text[], voice_id text, model text);

-- The queue at the start of a batch. `aheads`: for each request, how many tickets are ahead of its own (`ticket_ids`).
-- A request without a ticket is behind all tickets.
create type rta.call_queue as (
  slots rta.free_slot[], -- the slots that the batch can take
  free_slots integer,    -- the number of all free slots
  size integer,          -- live tickets
  turn bigint,           -- the present turn: that of the first ticket
  ticket_ids text[],
  aheads integer[]
);

-- A call as its worker reports it.
create type rta.reported_call as (
  session_id text, generation integer, state text, used_seconds bigint, reason text,
  -- Null for a worker that cannot move calls.
  room_number integer, gap_count integer, gap_seconds integer,
  lost_processes integer, -- how many processes the call has lost at this worker; null: not reported
  held_seconds integer -- for how long the call can go on, as the worker knows; null for a worker without growth
);

-- The moment and the amount of a hold's growth, in seconds: `HOLD_GROWTH` of the domain's calls/limits.ts.
create type rta.growth_terms as (ahead_seconds integer, last_seconds integer, step_seconds integer, least_seconds integer);

-- The usage of a conversation, as its worker reports it.
create type rta.reported_usage as (
  session_id text, generation integer, input_tokens integer, output_tokens integer, estimated_tokens integer,
  heard_seconds integer, spoken_characters integer
);

-- The usage of a conversation since its last report.
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

-- A transcript that a worker has claimed, with the content to send.
create type rta.claimed_transcript as (
  tenant_id text,
  session_id text,
  attempt_count integer,
  receiver bytea,
  avatar_id text,
  mode text,
  started_at timestamptz, -- null: the person has not joined the call
  ended_at timestamptz,
  metadata json,
  is_truncated boolean,
  segments text[]         -- in hexadecimal
);
