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
