-- The host to which an endpoint sends, for the budget of its tenant: in lower case, without a dot at its end. For an
-- endpoint without a URL, its id.
create function rta.endpoint_host(p_url text, p_id text) returns text
language sql immutable as $$
  select coalesce(rtrim(lower(substring(p_url from '^https?://(\[[^]]*\]|[^/?#:]+)')), '.'), p_id)
$$;
