-- A request to open a usage session.
create type rta.session_request as (
  id text,
  environment text,
  avatar_id text,      -- null: a call without an avatar of the service
  max_seconds bigint,  -- the maximum seconds to hold credits for
  min_seconds bigint,  -- the minimum seconds
  price bigint,        -- credit micros for each second
  start_seconds integer, -- the session must be started within this time
  metadata json,
  entry_id text,
  request_id text,
  created_at timestamptz
);

-- The outcome of a request to open a session. `kind`: 'written', 'stale' (the caller has changed since its look-up),
-- 'avatar_not_found', 'avatar_not_ready' (`avatar_status`), 'concurrency_limit_reached' (`limited_by`: 'self',
-- 'ancestor' or 'tenant', whose limit is `session_limit`), 'spend_limit_exceeded' (`limited_by`: 'self' or 'ancestor'),
-- 'insufficient_credits', or 'replayed' (the stored response and its response_fields follow). For a call also 'queued'
-- (no slot is free: its ticket and its place follow), 'too_many_tickets', 'too_many_transcripts', 'same' (the caller
-- has sent the same token before, and that call, `session_id`, is open), 'unsupported' (no worker has the values of the
-- fields in `unsupported`), and 'too_long' (the operator allows the tenant calls of `session_limit` seconds). `price`:
-- of a second, if limits and credits decide about the request. `slot_at`: for a 'written' call, the position of its
-- slot. Only 'written' and 'queued' write rows.
create type rta.session_outcome as (
  kind text,
  limited_by text,
  session_limit bigint,
  reserved bigint,
  expires_at timestamptz,
  avatar_name text,
  avatar_status text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text,
  response_fields json,
  ticket_id text,
  queue_position integer,
  queue_size integer,
  session_id text,
  price bigint,
  slot_at integer,
  unsupported text[]
);

-- The counters of a caller: its account and, in the order of their ids, the keys whose meters count its usage, with the
-- positions of these meters and of the account among those of the batch.
create type rta.charged_caller as (
  caller_at integer,
  tenant_id text collate "C",
  api_key_id text collate "C",
  environment text collate "C",
  account_at integer,
  lineage text[] collate "C",
  meters_at integer[]
);

-- The counters of a batch, each once, in lock order. `caps` and `session_limits`: those of the key of each meter; an
-- element is null without a limit.
create type rta.counters as (
  callers rta.charged_caller[], -- the valid callers
  meter_tenant_ids text[] collate "C",
  meter_api_key_ids text[] collate "C",
  caps bigint[],
  session_limits bigint[],
  account_tenant_ids text[] collate "C",
  account_environments text[] collate "C"
);

-- A meter and an account, as read under their locks. `used`: settled and held. An account that does not exist has 0
-- available.
create type rta.locked_meter as (used bigint, open_sessions bigint);
create type rta.locked_account as (
  available bigint, open_sessions bigint, session_limit bigint, low_threshold bigint, max_call_seconds integer
);

-- The fields of a new session that only its write knows, under the names of the API. `presentSession` presents them.
create type rta.opened_session as ("avatarName" text, "reservedCreditMicros" bigint, "expiresAt" timestamptz);

-- A session that ends: its hold, its charge, and the kind of its end. `rest`: the kind of the entry that frees the
-- unused part of the hold, 'release' or 'expire'. `closed_by`: the key that ends it, or 'sweep'.
create type rta.closing as (
  tenant_id text collate "C",
  environment text collate "C",
  session_id text collate "C",
  api_key_id text collate "C",
  lineage text[] collate "C",
  reserved bigint,
  is_counted boolean,
  reported_by text,
  closed_by text,
  charged bigint,
  status text,
  rest text,
  reason text,
  settle_entry_id text,
  rest_entry_id text,
  request_id text
);

-- A movement of credits by the operator.
create type rta.credit_entry as (
  tenant_id text,
  id text,
  environment text,
  kind text,
  amount bigint,
  session_id text,
  reference text,
  request_id text,
  created_at timestamptz
);

-- A report of usage, or a release. Fields of only one of them are null in the other: a report has `lease_seconds`, a
-- release the reason and the ids. A reporter is an engine.
create type rta.session_change as (
  environment text,
  session_id text collate "C",
  is_engine boolean,     -- whether the caller may write usage
  used bigint,           -- credit micros; null: not stated by the caller
  lease_seconds integer,
  reason text,
  settle_entry_id text,
  rest_entry_id text,
  request_id text
);

-- The outcome of a report or a release. `kind`: 'written', 'replayed' (nothing is written: `session` and what follows
-- it was stored), 'not_found', 'session_closed' (see report_usages and release_sessions), or 'stale' (nothing is
-- written: the caller has changed since its look-up, or the caller or the session is locked by another transaction and
-- `p_wait` is false).
create type rta.session_change_outcome as (
  kind text,
  has_ended boolean, -- whether a release has ended the session now
  session json,      -- see session_records
  body_hash bytea,
  etag text
);
