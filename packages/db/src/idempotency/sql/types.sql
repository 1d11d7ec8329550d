-- An Idempotency-Key of a request, and the response to store under it. `request`: method and path.
create type rta.claim as (
  request text collate "C",
  idempotency_key text collate "C",
  body_hash bytea,
  status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
);

-- The outcome of one create. `kind`: 'written', 'stale' (nothing is written: the caller has changed since its look-up,
-- is no longer valid, or is locked by a change and `p_wait` is false), 'over_quota' (nothing is written),
-- 'asset_not_found', 'asset_kind_mismatch' or 'asset_not_usable' (nothing is written: see check_sources), 'replayed'
-- (nothing is written: the stored response follows), or another reason for which refuse_write has deleted its claim.
create type rta.write_outcome as (
  kind text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
);

-- The stored response of an earlier request with the same claim. Not the row type of the table, whose columns change.
create type rta.stored_response as (
  body_hash bytea,
  status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text,
  response_fields json
);
