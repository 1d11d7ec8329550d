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

-- A response signed by a passkey, as the service has verified it.
create type rta.assertion as (
  tenant_id text,
  passkey_id text,
  user_id text,
  counter bigint,
  is_backed_up boolean,
  used_at timestamptz
);
