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
  updated_at timestamptz,
  origin text,         -- 'uploaded', 'imported' or 'generated'
  duration_ms integer
);

-- The result of processing an asset. `status`: 'ready' or 'failed'. The error is null when it is ready; the other
-- fields are null when it has failed. `public_type` is also null without a public file, and `duration_ms` when no
-- duration was measured.
create type rta.asset_result as (
  status text,
  content_type text,
  size_bytes bigint,
  sha256 text,
  public_type text,
  error_code text,
  error_detail text,
  duration_ms integer
);
