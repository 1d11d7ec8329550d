-- The functions of the version before preparations that write avatars, assets and jobs, without their comments. During an upgrade,
-- replicas of that version run beside this one.
create type rta.caller as (
  tenant_id text collate "C",
  id text collate "C",
  version integer,
  credential_key_id text,
  lineage text[]
);
create type rta.claim as (
  request text collate "C",
  idempotency_key text collate "C",
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text
);
create type rta.write_outcome as (
  kind text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text
);
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
create type rta.avatar as (
  tenant_id text,
  id text,
  environment text,
  display_name text,
  source_kind text,
  model_id text,
  status text,
  source_asset_id text,
  default_voice_id text,
  cache_manifest_id text,
  cache_version bigint,
  settings json,
  metadata json,
  version integer,
  created_at timestamptz,
  updated_at timestamptz
);
create type rta.avatar_change as (
  fields text[],
  display_name text,
  model_id text,
  source_asset_id text,
  default_voice_id text,
  settings json,
  metadata json,
  status text,
  updated_at timestamptz
);
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
  updated_at timestamptz
);
create type rta.asset_result as (
  status text,
  content_type text,
  size_bytes bigint,
  sha256 text,
  public_type text,
  error_code text,
  error_detail text
);
create type rta.job as (
  tenant_id text,
  id text,
  environment text,
  kind text,
  target_id text,
  generation integer,
  run_at timestamptz
);

create function rta.all_written() returns rta.write_outcome[]
language sql immutable as $$
  select array[row('written', null, null, null, null, null, null)::rta.write_outcome]
$$;

create function rta.claim_idempotency_keys(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_claims rta.claim[],
  p_audit_events rta.audit_event[],
  p_outcomes rta.write_outcome[]
) returns rta.write_outcome[]
language plpgsql as $$
declare
  v_claimed integer;
  v_has_expired boolean := false;
begin
  insert into public.idempotency_keys as stored (
    tenant_id, api_key_id, request, idempotency_key, audit_event_id,
    body_hash, status, location, etag, answer, sealed_for, created_at
  )
  select p_callers[p_caller_at[ordinality]].tenant_id, p_callers[p_caller_at[ordinality]].id,
    request, idempotency_key, p_audit_events[ordinality].id,
    body_hash, status, location, etag, answer, sealed_for, now()
  from unnest(p_claims) with ordinality
  where request is not null and p_outcomes[ordinality].kind = 'written'
  order by 1, 2, 3, 4
  on conflict (tenant_id, api_key_id, request, idempotency_key) do update
    set audit_event_id = excluded.audit_event_id, body_hash = excluded.body_hash, status = excluded.status,
      location = excluded.location, etag = excluded.etag, answer = excluded.answer,
      sealed_for = excluded.sealed_for, created_at = excluded.created_at
    where stored.created_at <= now() - interval '24 hours';
  get diagnostics v_claimed = row_count;
  for v_at in 1 .. cardinality(p_outcomes) loop
    if p_outcomes[v_at].kind = 'written' and p_valid_until[v_at] <= clock_timestamp() then
      p_outcomes[v_at].kind := 'stale';
      v_has_expired := true;
    end if;
  end loop;
  if v_has_expired then
    perform rta.delete_refused_claims(p_callers, p_caller_at, p_claims, p_audit_events, p_outcomes);
  end if;
  if v_claimed = cardinality(p_claims) then
    return p_outcomes;
  end if;
  return array(
    select case
      when stored.audit_event_id <> p_audit_events[claim.ordinality].id then row(
        'replayed', stored.body_hash, stored.status, stored.location, stored.etag, stored.answer, stored.sealed_for
      )::rta.write_outcome
      else p_outcomes[claim.ordinality]
    end
    from unnest(p_claims) with ordinality claim
    left join lateral (
      select * from public.idempotency_keys
      where p_outcomes[claim.ordinality].kind = 'written'
        and tenant_id = p_callers[p_caller_at[claim.ordinality]].tenant_id
        and api_key_id = p_callers[p_caller_at[claim.ordinality]].id
        and idempotency_keys.request = claim.request and idempotency_keys.idempotency_key = claim.idempotency_key
      offset 0
    ) stored on true
    order by claim.ordinality
  );
end $$;

create function rta.insert_audit_events(p_audit_events rta.audit_event[], p_outcomes rta.write_outcome[]) returns void
language plpgsql as $$
begin
  insert into public.audit_events (
    tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  )
  select tenant_id, id, environment, actor_id, actor_key_id, action, target_id, changed_fields, request_id, created_at
  from unnest(p_audit_events) with ordinality
  where p_outcomes[ordinality].kind = 'written';
end $$;

create function rta.lock_caller(p_caller rta.caller, p_wait boolean) returns timestamptz
language plpgsql as $$
declare
  v_locked integer;
  v_is_unchanged boolean;
  v_expires_at timestamptz;
  v_retired_at timestamptz;
  v_valid_until timestamptz;
begin
  if p_wait then
    perform from public.api_keys
    where tenant_id = p_caller.tenant_id and id = any (p_caller.lineage || p_caller.id)
    order by id for share;
    perform from public.api_key_credentials where key_id = p_caller.credential_key_id for share;
  end if;
  select count(*), bool_or(id = p_caller.id and version = p_caller.version), min(expires_at)
  into v_locked, v_is_unchanged, v_expires_at
  from (
    select id, version, expires_at from public.api_keys
    where tenant_id = p_caller.tenant_id and id = any (p_caller.lineage || p_caller.id) and revoked_at is null
    order by id for share skip locked
  ) locked;
  if (v_locked > cardinality(p_caller.lineage) and v_is_unchanged) is not true then
    return null;
  end if;
  select retired_at into v_retired_at from public.api_key_credentials
  where key_id = p_caller.credential_key_id for share skip locked;
  if not found then
    return null;
  end if;
  v_valid_until := coalesce(least(v_expires_at, v_retired_at), 'infinity');
  return case when v_valid_until > clock_timestamp() then v_valid_until end;
end $$;

create function rta.lock_callers(p_callers rta.caller[], p_caller_at integer[], p_wait boolean)
returns timestamptz[]
language plpgsql as $$
declare
  v_of_callers timestamptz[];
  v_of_creates timestamptz[];
begin
  for v_at in 1 .. cardinality(p_callers) loop
    v_of_callers[v_at] := rta.lock_caller(p_callers[v_at], p_wait);
  end loop;
  for v_at in 1 .. cardinality(p_caller_at) loop
    v_of_creates[v_at] := v_of_callers[p_caller_at[v_at]];
  end loop;
  return v_of_creates;
end $$;

create function rta.change_asset(p_old rta.asset, p_new rta.asset, p_audit_event rta.audit_event) returns rta.asset
language plpgsql as $$
declare
  v_was_counted boolean := p_old.status not in ('failed', 'deleted');
  v_is_counted boolean := p_new.status not in ('failed', 'deleted');
  v_assets integer := v_is_counted::integer - v_was_counted::integer;
  v_bytes bigint := case when v_is_counted then p_new.reserved_bytes else 0 end
    - case when v_was_counted then p_old.reserved_bytes else 0 end;
begin
  p_new.version := p_old.version + 1;
  update public.assets set
    status = p_new.status, content_type = p_new.content_type, size_bytes = p_new.size_bytes, sha256 = p_new.sha256,
    public_type = p_new.public_type, reserved_bytes = p_new.reserved_bytes, error_code = p_new.error_code,
    error_detail = p_new.error_detail, version = p_new.version, updated_at = p_new.updated_at
  where tenant_id = p_old.tenant_id and id = p_old.id;
  if v_assets <> 0 or v_bytes <> 0 then
    update public.asset_meters set assets = assets + v_assets, bytes = bytes + v_bytes
    where tenant_id = p_old.tenant_id and environment = p_old.environment;
  end if;
  if p_audit_event.id is not null then
    perform rta.insert_audit_events(array[p_audit_event], rta.all_written());
  end if;
  return p_new;
end $$;

create function rta.check_sources(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_avatars rta.avatar[],
  p_claims rta.claim[],
  p_audit_events rta.audit_event[],
  p_outcomes rta.write_outcome[]
) returns rta.write_outcome[]
language plpgsql as $$
declare
  v_kinds text[];
  v_is_refused boolean := false;
begin
  perform from (
    select distinct tenant_id collate "C" as tenant_id, source_asset_id collate "C" as id
    from unnest(p_avatars) with ordinality
    where source_asset_id is not null and p_outcomes[ordinality].kind = 'written'
    order by 1, 2
  ) source
  cross join lateral (
    select from public.assets asset where asset.tenant_id = source.tenant_id and asset.id = source.id for key share
  ) locked;
  v_kinds := array(
    select case
      when p_outcomes[avatar.ordinality].kind <> 'written' or avatar.source_asset_id is null
        then p_outcomes[avatar.ordinality].kind
      when p_valid_until[avatar.ordinality] <= clock_timestamp() then 'stale'
      else rta.source_outcome(avatar.source_kind, source.kind, source.status)
    end
    from unnest(p_avatars) with ordinality avatar
    left join lateral (
      select asset.kind, asset.status from public.assets asset
      where asset.tenant_id = avatar.tenant_id and asset.id = avatar.source_asset_id
        and asset.environment = avatar.environment
      offset 0
    ) source on true
    order by avatar.ordinality
  );
  for v_at in 1 .. cardinality(p_outcomes) loop
    if v_kinds[v_at] <> p_outcomes[v_at].kind then
      p_outcomes[v_at].kind := v_kinds[v_at];
      v_is_refused := true;
    end if;
  end loop;
  if v_is_refused and p_claims is not null then
    perform rta.delete_refused_claims(p_callers, p_caller_at, p_claims, p_audit_events, p_outcomes);
  end if;
  return p_outcomes;
end $$;

create function rta.delete_refused_claims(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_claims rta.claim[],
  p_audit_events rta.audit_event[],
  p_outcomes rta.write_outcome[]
) returns void
language plpgsql as $$
begin
  delete from public.idempotency_keys stored using unnest(p_claims) with ordinality claim
  where p_outcomes[claim.ordinality].kind not in ('written', 'replayed')
    and stored.tenant_id = p_callers[p_caller_at[claim.ordinality]].tenant_id
    and stored.api_key_id = p_callers[p_caller_at[claim.ordinality]].id
    and stored.request = claim.request
    and stored.idempotency_key = claim.idempotency_key
    and stored.audit_event_id = p_audit_events[claim.ordinality].id;
end $$;

create function rta.end_job(p_job rta.job, p_lease text) returns boolean
language plpgsql as $$
declare
  v_is_held boolean;
begin
  delete from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease;
  v_is_held := found;
  perform rta.free_slot(p_job.tenant_id, p_lease);
  return v_is_held;
end $$;

create function rta.free_slot(p_tenant_id text, p_lease text) returns void
language plpgsql as $$
begin
  update public.job_slots set lease = null, leased_until = null where tenant_id = p_tenant_id and lease = p_lease;
end $$;

create function rta.insert_job(p_job rta.job) returns void
language plpgsql as $$
begin
  insert into public.jobs (tenant_id, id, environment, kind, target_id, generation, run_at, created_at)
  values (
    p_job.tenant_id, p_job.id, p_job.environment, p_job.kind, p_job.target_id, p_job.generation, p_job.run_at,
    date_trunc('milliseconds', clock_timestamp())
  );
end $$;

create function rta.lock_asset(p_tenant_id text, p_environment text, p_id text) returns rta.asset
language plpgsql as $$
declare
  v_asset rta.asset;
begin
  select tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, public_type, remote_url,
    reserved_bytes, error_code, error_detail, original_filename, metadata, version, created_at, updated_at
  into v_asset from public.assets
  where tenant_id = p_tenant_id and environment = p_environment and id = p_id
  for no key update;
  return v_asset;
end $$;

create function rta.lock_asset_meter(p_tenant_id text, p_environment text) returns public.asset_meters
language plpgsql as $$
declare
  v_meter public.asset_meters;
begin
  loop
    select * into v_meter from public.asset_meters
    where tenant_id = p_tenant_id and environment = p_environment
    for no key update;
    exit when found;
    insert into public.asset_meters (tenant_id, environment, assets, bytes) values (p_tenant_id, p_environment, 0, 0)
    on conflict do nothing;
  end loop;
  return v_meter;
end $$;

create function rta.source_outcome(p_source_kind text, p_asset_kind text, p_asset_status text) returns text
language sql immutable as $$
  select case
    when p_asset_kind is null then 'asset_not_found'
    when p_asset_kind <> p_source_kind then 'asset_kind_mismatch'
    when p_asset_status in ('failed', 'deleted') then 'asset_not_usable'
    else 'written'
  end
$$;

create function rta.tenants_to_serve(p_now timestamptz, p_slots integer) returns table (tenant_id text, slots integer)
language plpgsql as $$
declare
  v_last text := coalesce(
    (select slot.tenant_id from public.job_slots slot where slot.started_at <= p_now order by slot.started_at desc limit 1),
    ''
  );
begin
  return query
  with recursive behind (tenant_id, due_at) as (
    (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) from public.jobs job
      where job.tenant_id > v_last
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    )
    union all
    select next.tenant_id, next.due_at from behind cross join lateral (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) as due_at from public.jobs job
      where job.tenant_id > behind.tenant_id
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    ) next
  ),
  before (tenant_id, due_at) as (
    (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) from public.jobs job
      where job.tenant_id <= v_last
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    )
    union all
    select next.tenant_id, next.due_at from before cross join lateral (
      select job.tenant_id, coalesce(job.leased_until, job.run_at) as due_at from public.jobs job
      where job.tenant_id > before.tenant_id and job.tenant_id <= v_last
      order by job.tenant_id, coalesce(job.leased_until, job.run_at) limit 1
    ) next
  )
  select servable.tenant_id::text, servable.slots::integer
  from (
    select waiting.tenant_id, waiting.due_at, slot.slots, slot.started_at
    from (select * from behind union all select * from before) waiting
    cross join lateral (
      select count(*) as slots, count(*) filter (where leased_until > p_now) as taken, max(started_at) as started_at
      from public.job_slots where job_slots.tenant_id = waiting.tenant_id and slot <= p_slots
    ) slot
    where waiting.due_at <= p_now and slot.taken < p_slots
    limit 32
  ) servable
  order by servable.started_at nulls first, servable.due_at;
end $$;

create function rta.claim_job(p_lease text, p_lease_seconds integer, p_slots integer, p_kinds text[])
returns table (job rta.job, attempts integer)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_until timestamptz := v_now + make_interval(secs => p_lease_seconds);
  v_tenant record;
  v_job public.jobs;
  v_slot integer;
begin
  if (
    select coalesce(due.leased_until, due.run_at) from public.jobs due
    order by coalesce(due.leased_until, due.run_at) limit 1
  ) <= v_now is not true then
    return;
  end if;
  for v_tenant in
    select * from rta.tenants_to_serve(v_now, p_slots)
  loop
    select * into v_job from public.jobs due
    where due.tenant_id = v_tenant.tenant_id and coalesce(due.leased_until, due.run_at) <= v_now
      and due.kind = any (p_kinds)
    order by due.tenant_id, coalesce(due.leased_until, due.run_at) limit 1
    for no key update skip locked;
    continue when not found;
    insert into public.job_slots (tenant_id, slot)
    select v_tenant.tenant_id, missing from generate_series(v_tenant.slots + 1, p_slots) missing
    on conflict do nothing;
    select slot into v_slot from public.job_slots
    where tenant_id = v_tenant.tenant_id and slot <= p_slots and coalesce(leased_until <= v_now, true)
    order by slot limit 1
    for no key update skip locked;
    continue when not found;
    update public.job_slots
    set job_id = v_job.id, lease = p_lease, leased_until = v_until, started_at = v_now
    where tenant_id = v_job.tenant_id and slot = v_slot;
    update public.jobs claimed
    set lease = p_lease, leased_until = v_until, attempts = claimed.attempts + 1
    where claimed.tenant_id = v_job.tenant_id and claimed.id = v_job.id;
    return query select
      row(
        v_job.tenant_id, v_job.id, v_job.environment, v_job.kind, v_job.target_id, v_job.generation, v_job.run_at
      )::rta.job,
      v_job.attempts + 1;
    return;
  end loop;
end $$;

create function rta.create_asset(
  p_caller rta.caller,
  p_asset rta.asset,
  p_job rta.job,
  p_audit_event rta.audit_event,
  p_claim rta.claim,
  p_max_assets bigint,
  p_max_bytes bigint
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_outcomes rta.write_outcome[] := rta.all_written();
  v_meter public.asset_meters;
begin
  if v_valid_until is null then
    v_outcomes[1].kind := 'stale';
  elsif p_claim.request is not null then
    v_outcomes := rta.claim_idempotency_keys(
      array[p_caller], array[1], array[v_valid_until], array[p_claim], array[p_audit_event], v_outcomes
    );
  end if;
  if v_outcomes[1].kind <> 'written' then
    return query select * from unnest(v_outcomes);
    return;
  end if;
  v_meter := rta.lock_asset_meter(p_asset.tenant_id, p_asset.environment);
  v_outcomes[1].kind := case
    when v_valid_until <= clock_timestamp() then 'stale'
    when v_meter.assets + 1 > p_max_assets or v_meter.bytes + p_asset.reserved_bytes > p_max_bytes then 'over_quota'
    else 'written'
  end;
  if v_outcomes[1].kind = 'written' then
    update public.asset_meters set assets = assets + 1, bytes = bytes + p_asset.reserved_bytes
    where tenant_id = p_asset.tenant_id and environment = p_asset.environment;
    insert into public.assets (
      tenant_id, id, environment, kind, status, content_type, size_bytes, sha256, public_token, public_type, remote_url,
      reserved_bytes, error_code, error_detail, original_filename, metadata, version, created_at, updated_at
    )
    select p_asset.*;
    if p_job.id is not null then
      perform rta.insert_job(p_job);
    end if;
    perform rta.insert_audit_events(array[p_audit_event], v_outcomes);
  elsif p_claim.request is not null then
    perform rta.delete_refused_claims(array[p_caller], array[1], array[p_claim], array[p_audit_event], v_outcomes);
  end if;
  return query select * from unnest(v_outcomes);
end $$;

create function rta.delete_asset(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_versions text[],
  p_audit_event rta.audit_event
) returns table (outcome text, asset rta.asset)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.asset;
  v_new rta.asset;
begin
  if v_valid_until is null then
    return query select 'stale', null::rta.asset;
    return;
  end if;
  perform from public.assets
  where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_id
  for update;
  v_old := rta.lock_asset(p_caller.tenant_id, p_environment, p_id);
  if v_valid_until <= clock_timestamp() then
    return query select 'stale', null::rta.asset;
  elsif v_old.id is null then
    return query select 'not_found', null::rta.asset;
  elsif v_old.status = 'deleted' or v_old.version::text <> all (p_versions) then
    return query select 'unchanged', v_old;
  elsif exists (
    select from public.avatars
    where tenant_id = p_caller.tenant_id and source_asset_id = p_id and status <> 'deleted'
  ) then
    return query select 'in_use', null::rta.asset;
  else
    delete from public.jobs where tenant_id = p_caller.tenant_id and target_id = p_id;
    v_new := v_old;
    v_new.status := 'deleted';
    v_new.error_code := null;
    v_new.error_detail := null;
    v_new.updated_at := p_audit_event.created_at;
    return query select 'written', rta.change_asset(v_old, v_new, p_audit_event);
  end if;
end $$;

create function rta.finish_asset(
  p_job rta.job,
  p_lease text,
  p_result rta.asset_result,
  p_audit_event rta.audit_event
) returns boolean
language plpgsql as $$
declare
  v_old rta.asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_new rta.asset := v_old;
  v_is_held boolean := rta.end_job(p_job, p_lease);
begin
  if (v_is_held and v_old.status in ('pending_upload', 'uploaded', 'processing')) is not true then
    return false;
  end if;
  v_new.status := p_result.status;
  v_new.error_code := p_result.error_code;
  v_new.error_detail := p_result.error_detail;
  v_new.updated_at := p_audit_event.created_at;
  if p_result.status = 'ready' then
    v_new.content_type := p_result.content_type;
    v_new.size_bytes := p_result.size_bytes;
    v_new.reserved_bytes := p_result.size_bytes;
    v_new.sha256 := p_result.sha256;
    v_new.public_type := p_result.public_type;
  end if;
  perform rta.change_asset(v_old, v_new, p_audit_event);
  return true;
end $$;

create function rta.renew_job(p_job rta.job, p_lease text, p_lease_seconds integer) returns boolean
language plpgsql as $$
declare
  v_until timestamptz;
begin
  perform from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease for no key update;
  if not found then
    perform rta.free_slot(p_job.tenant_id, p_lease);
    return false;
  end if;
  v_until := date_trunc('milliseconds', clock_timestamp()) + make_interval(secs => p_lease_seconds);
  update public.job_slots set leased_until = v_until where tenant_id = p_job.tenant_id and lease = p_lease;
  if not found then
    return false;
  end if;
  update public.jobs set leased_until = v_until where tenant_id = p_job.tenant_id and id = p_job.id;
  return true;
end $$;

create function rta.retry_job(
  p_job rta.job,
  p_lease text,
  p_error text,
  p_delay_ms integer,
  p_max_attempts integer,
  p_detail text,
  p_audit_event rta.audit_event
) returns text
language plpgsql as $$
declare
  v_old rta.asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_new rta.asset := v_old;
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
  update public.jobs
  set lease = null, leased_until = null, run_at = v_now + make_interval(secs => p_delay_ms / 1000.0),
    last_error = left(p_error, 500), attempts = attempts - case when p_max_attempts is null then 1 else 0 end
  where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
    and coalesce(attempts < p_max_attempts, true);
  if found then
    perform rta.free_slot(p_job.tenant_id, p_lease);
    if v_old.status = 'processing' then
      v_new.status := 'uploaded';
      v_new.updated_at := v_now;
      perform rta.change_asset(v_old, v_new, null);
    end if;
    return 'retried';
  end if;
  if not rta.end_job(p_job, p_lease) then
    return 'lost';
  end if;
  if v_old.status in ('pending_upload', 'uploaded', 'processing') then
    v_new.status := 'failed';
    v_new.error_code := 'internal';
    v_new.error_detail := p_detail;
    v_new.updated_at := p_audit_event.created_at;
    perform rta.change_asset(v_old, v_new, p_audit_event);
  end if;
  return 'exhausted';
end $$;

create function rta.start_asset(p_job rta.job, p_lease text) returns setof rta.asset
language plpgsql as $$
declare
  v_old rta.asset := rta.lock_asset(p_job.tenant_id, p_job.environment, p_job.target_id);
  v_new rta.asset := v_old;
begin
  if not exists (
    select from public.jobs where tenant_id = p_job.tenant_id and id = p_job.id and lease = p_lease
  ) then
    return;
  end if;
  if v_old.status = 'uploaded' then
    v_new.status := 'processing';
    v_new.updated_at := date_trunc('milliseconds', clock_timestamp());
    v_new := rta.change_asset(v_old, v_new, null);
  end if;
  if v_new.status in ('pending_upload', 'processing') then
    return next v_new;
  end if;
end $$;

create function rta.create_avatars(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_avatars rta.avatar[],
  p_audit_events rta.audit_event[],
  p_claims rta.claim[],
  p_has_sources boolean,
  p_wait boolean
) returns setof rta.write_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz[] := rta.lock_callers(p_callers, p_caller_at, p_wait);
  v_outcomes rta.write_outcome[];
begin
  for v_at in 1 .. cardinality(p_avatars) loop
    v_outcomes[v_at].kind := case when v_valid_until[v_at] is null then 'stale' else 'written' end;
  end loop;
  if p_claims is not null then
    v_outcomes := rta.claim_idempotency_keys(
      p_callers, p_caller_at, v_valid_until, p_claims, p_audit_events, v_outcomes
    );
  end if;
  if p_has_sources then
    v_outcomes := rta.check_sources(
      p_callers, p_caller_at, v_valid_until, p_avatars, p_claims, p_audit_events, v_outcomes
    );
  end if;
  insert into public.avatars (
    tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, default_voice_id,
    cache_manifest_id, cache_version, settings, metadata, version, created_at, updated_at
  )
  select tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, default_voice_id,
    cache_manifest_id, cache_version, settings, metadata, version, created_at, updated_at
  from unnest(p_avatars) with ordinality
  where v_outcomes[ordinality].kind = 'written';
  perform rta.insert_audit_events(p_audit_events, v_outcomes);
  return query select * from unnest(v_outcomes);
end $$;

create function rta.update_avatar(
  p_caller rta.caller,
  p_environment text,
  p_id text,
  p_change rta.avatar_change,
  p_versions text[],
  p_statuses text[],
  p_audit_event rta.audit_event
) returns table (kind text, avatar rta.avatar)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_old rta.avatar;
  v_new rta.avatar;
  v_has_new_source boolean := 'sourceAssetId' = any (p_change.fields) and p_change.source_asset_id is not null;
  v_asset_kind text;
  v_asset_status text;
  v_source_outcome text;
begin
  if v_valid_until is null then
    return query select 'stale', null::rta.avatar;
    return;
  end if;
  if v_has_new_source then
    perform from public.assets
    where tenant_id = p_caller.tenant_id and id = p_change.source_asset_id
    for key share;
  end if;
  select tenant_id, id, environment, display_name, source_kind, model_id, status, source_asset_id, default_voice_id,
    cache_manifest_id, cache_version, settings, metadata, version, created_at, updated_at
  into v_old from public.avatars
  where tenant_id = p_caller.tenant_id and environment = p_environment and id = p_id
  for no key update;
  if v_valid_until <= clock_timestamp() then
    return query select 'stale', null::rta.avatar;
    return;
  end if;
  if v_old.id is null then
    return query select 'not_found', null::rta.avatar;
    return;
  end if;
  if v_old.version::text <> all (p_versions) or v_old.status <> all (p_statuses) then
    return query select 'unchanged', v_old;
    return;
  end if;
  if v_has_new_source then
    select asset.kind, asset.status into v_asset_kind, v_asset_status from public.assets asset
    where asset.tenant_id = p_caller.tenant_id and asset.id = p_change.source_asset_id
      and asset.environment = p_environment;
    v_source_outcome := rta.source_outcome(v_old.source_kind, v_asset_kind, v_asset_status);
    if v_source_outcome <> 'written' then
      return query select v_source_outcome, null::rta.avatar;
      return;
    end if;
  end if;
  v_new := v_old;
  if 'displayName' = any (p_change.fields) then v_new.display_name := p_change.display_name; end if;
  if 'modelId' = any (p_change.fields) then v_new.model_id := p_change.model_id; end if;
  if 'sourceAssetId' = any (p_change.fields) then v_new.source_asset_id := p_change.source_asset_id; end if;
  if 'defaultVoiceId' = any (p_change.fields) then v_new.default_voice_id := p_change.default_voice_id; end if;
  if 'settings' = any (p_change.fields) then v_new.settings := p_change.settings; end if;
  if 'metadata' = any (p_change.fields) then v_new.metadata := p_change.metadata; end if;
  if 'status' = any (p_change.fields) then v_new.status := p_change.status; end if;
  v_new.version := v_old.version + 1;
  v_new.updated_at := p_change.updated_at;
  update public.avatars set
    display_name = v_new.display_name, model_id = v_new.model_id, source_asset_id = v_new.source_asset_id,
    default_voice_id = v_new.default_voice_id, settings = v_new.settings, metadata = v_new.metadata,
    status = v_new.status, version = v_new.version, updated_at = v_new.updated_at
  where tenant_id = v_old.tenant_id and id = v_old.id;
  p_audit_event.changed_fields := array_remove(array[
    case when v_new.display_name is distinct from v_old.display_name then 'displayName' end,
    case when v_new.model_id is distinct from v_old.model_id then 'modelId' end,
    case when v_new.source_asset_id is distinct from v_old.source_asset_id then 'sourceAssetId' end,
    case when v_new.default_voice_id is distinct from v_old.default_voice_id then 'defaultVoiceId' end,
    case when v_new.settings::text is distinct from v_old.settings::text then 'settings' end,
    case when v_new.metadata::text is distinct from v_old.metadata::text then 'metadata' end,
    case when v_new.status is distinct from v_old.status then 'status' end
  ], null);
  perform rta.insert_audit_events(array[p_audit_event], rta.all_written());
  return query select 'written', v_new;
end $$;
