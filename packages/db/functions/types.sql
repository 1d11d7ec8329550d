-- The rows that functions take and return. Each has the columns of its table that the service sends or reads.
-- They are types of this schema, and not those of the tables, so that a column added to a table changes no function
-- that a running replica uses. What claims are sorted by has the collation of their primary key.

-- Who makes a write, as its look-up found it: a key, or a person.
create type rta.caller as (
  tenant_id text collate "C",
  id text collate "C",    -- of the key, or of the user
  version integer,
  credential_key_id text, -- the credential that was presented; null for a person
  lineage text[],         -- the ids of the key's ancestors; empty for a person
  session_id text,        -- the session of a person; null for a key
  needs_passkey boolean   -- of a person: the passkey must have been used within the last minutes (verified_until)
);

-- The key that a change is about. `version` null: the change accepts every version.
create type rta.target as (tenant_id text, id text, version integer);

-- An Idempotency-Key of a request, and the response to store under it. `request`: method and path. `answer`: the body of
-- the response.
create type rta.claim as (
  request text collate "C",
  idempotency_key text collate "C",
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text
);

-- What became of one create. `kind`: 'written', 'stale' (nothing is written: the caller has changed since its look-up, is
-- no longer valid, or is locked by a change and `p_wait` is false), 'over_quota' (nothing is written), 'asset_not_found',
-- 'asset_kind_mismatch' or 'asset_not_usable' (nothing is written: see source_outcome), or 'replayed' (nothing is written:
-- the stored response follows). `answer`: the body of the response.
create type rta.write_outcome as (
  kind text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text
);

create type rta.audit_event as (
  tenant_id text,
  id text,
  environment text,
  actor_id text,
  actor_key_id text,
  action text,
  target_id text,
  changed_fields text[],
  request_id text,
  created_at timestamptz
);

create type rta.avatar as (
  tenant_id text,
  id text,
  environment text,
  display_name text,
  source_kind text,
  model_id text,
  status text,
  source_asset_id text,
  pending_source_asset_id text,
  default_voice_id text,
  generation integer,
  error text,
  checks json,
  preview_token text,
  preview_file text,
  cache_manifest_id text,
  cache_version bigint,
  settings json,
  metadata json,
  version integer,
  created_at timestamptz,
  updated_at timestamptz
);

-- New values for an avatar. Only those change whose names in the API (`displayName`) are in `fields`.
create type rta.avatar_change as (
  fields text[],
  display_name text,
  model_id text,
  source_asset_id text,
  default_voice_id text,
  settings json,
  metadata json,
  status text
);

-- In which statuses a change of an avatar starts a preparation, and how: see CHANGE_EFFECTS of the domain.
create type rta.preparation_rules as (
  on_source text[],    -- another source does
  on_model text[],     -- another model does
  in_background text[] -- the avatar keeps its status, and what was prepared, until the preparation is ready
);

-- What a preparation has shown. `status`: 'ready' or 'failed'. The error is null when it is ready, and what follows the checks
-- when it has failed.
create type rta.preparation_result as (
  status text,
  error text,
  checks json,
  cache_manifest_id text,
  preview_token text,
  preview_file text
);

create type rta.api_key as (
  tenant_id text,
  id text,
  key_id text,
  environment text,
  name text,
  scopes text[],
  spend_limit_credit_micros bigint,
  max_concurrent_sessions bigint,
  expires_at timestamptz,
  lineage text[],
  version integer,
  created_at timestamptz
);

-- A request to open a usage session.
create type rta.session_request as (
  id text,
  environment text,
  avatar_id text,      -- null: a call without an avatar of the service
  max_seconds bigint,  -- hold credits for as many seconds as fit, at most these
  min_seconds bigint,  -- and at least these
  price bigint,        -- credit micros for each second
  start_seconds integer, -- the session must be started within this time
  metadata json,
  entry_id text,
  request_id text,
  created_at timestamptz
);

-- What became of a request to open a session. `kind`: 'written', 'stale' (the caller has changed since its look-up),
-- 'avatar_not_found', 'avatar_not_ready', 'concurrency_limit_reached' (`limited_by`: 'self', 'ancestor' or 'tenant', whose
-- limit is `session_limit`), 'spend_limit_exceeded' (`limited_by`: 'self' or 'ancestor'), 'insufficient_credits', or 'replayed' (the stored response and its figures follow). Only 'written' writes anything.
create type rta.session_outcome as (
  kind text,
  limited_by text,
  session_limit bigint,
  reserved bigint,
  expires_at timestamptz,
  avatar_name text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text,
  figures json
);

-- What a caller is charged to: its account and, in the order of their ids, the keys whose meters count what it uses, with
-- the positions of these meters and of the account among those of the batch.
create type rta.charged_caller as (
  caller_at integer,
  tenant_id text collate "C",
  api_key_id text collate "C",
  environment text collate "C",
  account_at integer,
  lineage text[] collate "C",
  meters_at integer[]
);

-- The counters of a batch, each once, in lock order. `caps` and `session_limits`: of the key of each meter; an element is null
-- without a limit.
create type rta.counters as (
  callers rta.charged_caller[], -- those that are valid
  meter_tenant_ids text[] collate "C",
  meter_api_key_ids text[] collate "C",
  caps bigint[],
  session_limits bigint[],
  account_tenant_ids text[] collate "C",
  account_environments text[] collate "C"
);

-- A meter, and an account, as they are under their lock. `used`: settled and held. Of an account that does not exist, 0 is
-- available.
create type rta.locked_meter as (used bigint, open_sessions bigint);
create type rta.locked_account as (available bigint, open_sessions bigint, session_limit bigint);

create type rta.usage_session as (
  id text,
  environment text,
  api_key_id text,
  avatar_id text,
  avatar_name text,
  status text,
  reserved bigint,
  used bigint,
  price bigint,
  metadata json,
  version integer,
  created_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  expires_at timestamptz,
  must_end boolean,
  reported_by text,
  closed_by text
);

-- A session that ends: what it held, what it is charged, and how it ends. `rest`: the kind of the entry that frees what it
-- did not use, 'release' or 'expire'. `closed_by`: the key that ends it, or 'sweep'.
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

create type rta.asset as (
  tenant_id text,
  id text,
  environment text,
  kind text,
  status text,
  content_type text,
  size_bytes bigint,
  sha256 text,
  public_token text,
  public_type text,
  remote_url text,
  reserved_bytes bigint,
  error_code text,
  error_detail text,
  original_filename text,
  metadata json,
  version integer,
  created_at timestamptz,
  updated_at timestamptz
);

-- What processing an asset has shown. `status`: 'ready' or 'failed'. The error is null when it is ready, the rest when it
-- has failed; `public_type` is also null when there is no public file.
create type rta.asset_result as (
  status text,
  content_type text,
  size_bytes bigint,
  sha256 text,
  public_type text,
  error_code text,
  error_detail text
);

create type rta.job as (
  tenant_id text,
  id text,
  environment text,
  kind text,
  target_id text,
  generation integer,
  run_at timestamptz
);

create type rta.member as (
  tenant_id text,
  id text,
  email text,
  name text,
  role text,
  version integer,
  created_at timestamptz
);

create type rta.passkey as (
  tenant_id text,
  id text,
  user_id text,
  credential_id bytea,
  public_key bytea,
  counter bigint,
  transports text[],
  is_backed_up boolean,
  name text,
  version integer,
  created_at timestamptz,
  last_used_at timestamptz
);

create type rta.user_session as (
  tenant_id text,
  id text,
  user_id text,
  passkey_id text,
  digest bytea,
  user_agent text,
  version integer,
  verified_until timestamptz,
  created_at timestamptz,
  expires_at timestamptz,
  identity_id text
);

-- An account at a provider of OpenID Connect, with which a user signs in.
create type rta.identity as (
  tenant_id text,
  id text,
  user_id text,
  issuer text,
  subject text,
  created_at timestamptz,
  last_used_at timestamptz
);

-- The use of an identity, as the service has verified it.
create type rta.identity_use as (tenant_id text, identity_id text, user_id text, used_at timestamptz);

create type rta.invitation as (
  tenant_id text,
  id text,
  digest bytea,
  email text,
  role text,
  user_id text,
  created_by text,
  created_at timestamptz,
  expires_at timestamptz
);

-- A challenge that a passkey has signed, or an attempt to sign in by OIDC.
create type rta.challenge as (nonce bytea, expires_at timestamptz);

-- What a passkey has signed, as the service has verified it.
create type rta.assertion as (
  tenant_id text,
  passkey_id text,
  user_id text,
  counter bigint,
  is_backed_up boolean,
  used_at timestamptz
);
