-- Something that has happened to a resource, for the endpoints that select its type (emit_events).
create type rta.event as (
  tenant_id text collate "C",
  environment text collate "C",
  type text,
  target_id text collate "C",
  created_at timestamptz
);
