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
