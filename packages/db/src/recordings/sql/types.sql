-- The recordings of a call that a worker has claimed, with the fragments from which it makes them.
create type rta.claimed_recordings as (
  tenant_id text,
  session_id text,
  environment text,
  avatar_id text,
  call_mode text,         -- 'avatar' or 'voice'
  started_at timestamptz, -- null: the person has not joined the call
  ended_at timestamptz,
  attempt_count integer,  -- includes this attempt
  recordings json,        -- for each recording: id, mode, role (null: both sides)
  fragments json          -- for each fragment, in their order: generation, n, sizeBytes
);

-- The file of a recording.
create type rta.recording_file as (
  id text,
  key text,
  size_bytes bigint,
  duration_ms integer,
  media_started_at timestamptz,
  media_ended_at timestamptz
);
