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

-- New values for an avatar. Only the fields whose API names (`displayName`) are in `fields` change.
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
  on_source text[],    -- the statuses in which another source starts one
  on_model text[],     -- the statuses in which another model starts one
  in_background text[] -- the statuses in which the avatar keeps its status and its files until the preparation is ready
);

-- The result of a preparation. `status`: 'ready' or 'failed'. The error is null when it is ready; the fields after the
-- checks are null when it has failed.
create type rta.preparation_result as (
  status text,
  error text,
  checks json,
  cache_manifest_id text,
  preview_token text,
  preview_file text
);
