create type rta.job as (
  tenant_id text,
  id text,
  environment text,
  kind text,
  target_id text,
  generation integer,
  run_at timestamptz
);
