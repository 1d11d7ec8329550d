create type rta.video as (
  tenant_id text collate "C",
  id text collate "C",
  environment text collate "C",
  avatar_id text,
  text text,
  audio_asset_id text,
  voice_id text,
  status text,
  progress real,
  asset_id text,
  duration_ms integer,
  billed_seconds bigint,
  billed_credit_micros bigint,
  reserved_credit_micros bigint,
  session_id text,
  api_key_id text,
  error_code text,
  error_detail text,
  warnings text[],
  metadata json,
  version integer,
  created_at timestamptz,
  updated_at timestamptz
);

-- A request for a video.
create type rta.video_request as (
  id text,
  environment text,
  avatar_id text,
  text text,                 -- null when the video has audio
  audio_asset_id text,
  voice_id text,             -- the voice of the request; null without one
  voice_ids text[],          -- the ids of the existing voices
  default_voice_id text,     -- the default voice of the service
  seconds bigint,            -- the seconds for which a text holds credits; null for audio
  max_audio_seconds bigint,
  price bigint,              -- credit micros for each second
  max_videos integer,        -- the maximum number of the tenant's queued or rendered videos in the environment
  session_id text,
  session_metadata json,
  session_seconds integer,   -- the seconds after which the session ends by itself
  job_id text,
  entry_id text,
  request_id text,
  metadata json,
  created_at timestamptz
);

-- The fields of a new video that only its write knows, under the names of the API.
create type rta.decided_fields as ("voiceId" text, "reservedCreditMicros" bigint, warnings text[]);

-- The texts of the errors that the end of a video finds.
create type rta.video_error_details as (key_ended text, session_ended text, quota_exceeded text);

-- The result of an attempt to render a video. `status`: 'ready', with the fields after it, or 'failed' or 'canceled',
-- with the error.
create type rta.video_result as (
  status text,
  duration_ms integer,
  warnings text[],      -- in addition to those of the video
  error_code text,
  error_detail text
);
