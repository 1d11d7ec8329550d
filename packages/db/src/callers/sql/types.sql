-- The caller of a write, as returned by its look-up: a key or a person.
create type rta.caller as (
  tenant_id text collate "C",
  id text collate "C",    -- the id of the key or of the user
  version integer,
  credential_key_id text, -- the presented credential; null for a person
  lineage text[],         -- the ids of the key's ancestors; empty for a person
  session_id text,        -- the session of a person; null for a key
  needs_passkey boolean   -- for a person: whether the passkey must have been used recently (verified_until)
);

-- The key that a change is about. `version` null: the change accepts every version.
create type rta.target as (tenant_id text, id text, version integer);
