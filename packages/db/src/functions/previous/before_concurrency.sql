-- The functions of the version before `maxConcurrentSessions` that write usage sessions, without their comments. During an
-- upgrade, replicas of that version run beside this one.
create type rta.caller as (
  tenant_id text collate "C",
  id text collate "C",
  version integer,
  credential_key_id text,
  lineage text[],
  session_id text,
  needs_passkey boolean
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
create type rta.session_request as (
  id text,
  environment text,
  avatar_id text,
  max_seconds bigint,
  min_seconds bigint,
  price bigint,
  start_seconds integer,
  metadata json,
  entry_id text,
  request_id text,
  created_at timestamptz
);
create type rta.session_outcome as (
  kind text,
  limited_by text,
  reserved bigint,
  expires_at timestamptz,
  avatar_name text,
  body_hash bytea,
  status integer,
  location text,
  etag text,
  answer bytea,
  sealed_for text,
  figures json
);
create type rta.charged_caller as (
  caller_at integer,
  tenant_id text collate "C",
  api_key_id text collate "C",
  environment text collate "C",
  account_at integer,
  lineage text[] collate "C",
  meters_at integer[]
);
create type rta.counters as (
  callers rta.charged_caller[],
  meter_tenant_ids text[] collate "C",
  meter_api_key_ids text[] collate "C",
  caps bigint[],
  account_tenant_ids text[] collate "C",
  account_environments text[] collate "C"
);
create type rta.usage_session as (
  id text,
  environment text,
  api_key_id text,
  avatar_id text,
  avatar_name text,
  status text,
  reserved bigint,
  used bigint,
  price bigint,
  metadata json,
  version integer,
  created_at timestamptz,
  started_at timestamptz,
  ended_at timestamptz,
  expires_at timestamptz
);
create type rta.closing as (
  tenant_id text collate "C",
  environment text collate "C",
  session_id text collate "C",
  api_key_id text collate "C",
  lineage text[] collate "C",
  reserved bigint,
  charged bigint,
  status text,
  rest text,
  reason text,
  settle_entry_id text,
  rest_entry_id text,
  request_id text
);
create function rta.lock_person(p_caller rta.caller, p_wait boolean) returns timestamptz
language plpgsql as $$
declare
  v_valid_until timestamptz;
begin
  if p_wait then
    perform from public.users where tenant_id = p_caller.tenant_id and id = p_caller.id for share;
    perform from public.user_sessions where tenant_id = p_caller.tenant_id and id = p_caller.session_id for share;
  end if;

  perform from public.users
  where tenant_id = p_caller.tenant_id and id = p_caller.id and version = p_caller.version
  for share skip locked;
  if not found then
    return null;
  end if;
  select least(expires_at, case when p_caller.needs_passkey then verified_until end) into v_valid_until
  from public.user_sessions
  where tenant_id = p_caller.tenant_id and id = p_caller.session_id and user_id = p_caller.id
  for share skip locked;
  return case when v_valid_until > clock_timestamp() then v_valid_until end;
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
  if p_caller.session_id is not null then
    return rta.lock_person(p_caller, p_wait);
  end if;
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
create function rta.counters_of_callers(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[]
) returns rta.counters
language plpgsql as $$
declare
  v_counters rta.counters;
begin
  with line as materialized (
    select caller.ordinality::integer as caller_at, own.tenant_id, own.id as api_key_id,
      own.environment collate "C" as environment, key.id, key.spend_limit_credit_micros as cap,
      dense_rank() over (order by own.tenant_id, own.environment collate "C")::integer as account_at,
      dense_rank() over (order by own.tenant_id, key.id)::integer as meter_at
    from unnest(p_callers) with ordinality caller
    join public.api_keys own on own.tenant_id = caller.tenant_id and own.id = caller.id
    join public.api_keys key on key.tenant_id = own.tenant_id and key.id = any (own.lineage || own.id)
      and key.environment = own.environment
    where caller.ordinality in (
      select caller_at from unnest(p_caller_at, p_valid_until) request (caller_at, valid_until)
      where valid_until is not null
    )
  ), charged as (
    select row(
      caller_at, tenant_id, api_key_id, environment, account_at, array_agg(id order by id),
      array_agg(meter_at order by id)
    )::rta.charged_caller as caller
    from line group by caller_at, tenant_id, api_key_id, environment, account_at
  ), meter as (
    select distinct meter_at, tenant_id, id, cap from line order by meter_at
  ), account as (
    select distinct account_at, tenant_id, environment from line order by account_at
  )
  select (select array_agg(caller) from charged), meters.*, accounts.* into v_counters
  from (select array_agg(tenant_id), array_agg(id), array_agg(cap) from meter) meters,
    (select array_agg(tenant_id), array_agg(environment) from account) accounts;
  return v_counters;
end $$;
create function rta.lock_meters(p_tenant_ids text[], p_api_key_ids text[]) returns bigint[]
language plpgsql as $$
declare
  v_used bigint[];
begin
  loop
    v_used := array(
      select meter.settled + meter.reserved
      from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
      join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
      order by meter.tenant_id, meter.api_key_id
      for no key update of meter
    );
    if cardinality(v_used) = coalesce(cardinality(p_api_key_ids), 0) then
      return v_used;
    end if;
    insert into public.api_key_meters (tenant_id, api_key_id)
    select tenant_id, id from unnest(p_tenant_ids, p_api_key_ids) key (tenant_id, id)
    order by tenant_id collate "C", id collate "C"
    on conflict do nothing;
  end loop;
end $$;
create function rta.lock_accounts(p_tenant_ids text[], p_environments text[]) returns bigint[]
language plpgsql as $$
begin
  return array(
    with locked as materialized (
      select account.tenant_id, account.environment, granted - forfeited - settled - reserved as available
      from unnest(p_tenant_ids, p_environments) wanted (tenant_id, environment)
      join public.credit_accounts account
        on account.tenant_id = wanted.tenant_id and account.environment = wanted.environment
      order by account.tenant_id, account.environment
      for no key update of account
    )
    select coalesce(locked.available, 0)
    from unnest(p_tenant_ids, p_environments) with ordinality wanted (tenant_id, environment, at)
    left join locked on locked.tenant_id = wanted.tenant_id and locked.environment = wanted.environment
    order by at
  );
end $$;
create function rta.lock_counters(p_closings rta.closing[]) returns void
language plpgsql as $$
begin
  perform rta.lock_meters(array_agg(tenant_id), array_agg(api_key_id))
  from (
    select distinct closing.tenant_id, metered.api_key_id
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
  ) meter;
  perform rta.lock_accounts(array_agg(tenant_id), array_agg(environment))
  from (select distinct tenant_id, environment from unnest(p_closings) order by 1, 2) account;
end $$;
create function rta.requests_to_admit(
  p_callers rta.charged_caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_now timestamptz
) returns table (
  at integer,
  kind text,
  avatar_name text,
  replayed public.idempotency_keys,
  max_seconds bigint,
  min_seconds bigint,
  price bigint,
  start_seconds integer,
  api_key_id text,
  lineage text[],
  meters_at integer[],
  account_at integer
)
language plpgsql as $$
begin
  return query
  select request.ordinality::integer,
    case
      when (valid_until > p_now and caller.environment = request.environment) is not true then 'stale'
      when (stored.claim).request is not null then 'replayed'
      when request.avatar_id is null or avatar.status = 'ready' then 'written'
      when avatar.status is null or avatar.status = 'deleted' then 'avatar_not_found'
      else 'avatar_not_ready'
    end,
    avatar.display_name, stored.claim, request.max_seconds, request.min_seconds, request.price, request.start_seconds,
    caller.api_key_id::text, caller.lineage::text[], caller.meters_at, caller.account_at
  from rows from (unnest(p_requests), unnest(p_caller_at), unnest(p_valid_until), unnest(p_claims)) with ordinality
    request (
      id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
      created_at, caller_at, valid_until
    )
  left join unnest(p_callers) caller on caller.caller_at = request.caller_at
  left join lateral (
    select avatar.status, avatar.display_name from public.avatars avatar
    where avatar.tenant_id = caller.tenant_id and avatar.id = request.avatar_id
      and avatar.environment = request.environment
    limit 1
  ) avatar on true
  left join lateral (
    select claim from public.idempotency_keys claim
    where claim.tenant_id = caller.tenant_id and claim.api_key_id = caller.api_key_id
      and claim.request = request.request and claim.idempotency_key = request.idempotency_key
      and claim.created_at > now() - interval '24 hours'
    limit 1
  ) stored on true
  order by request.ordinality;
end $$;
create function rta.admit_sessions(
  p_callers rta.charged_caller[],
  p_caller_at integer[],
  p_valid_until timestamptz[],
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_left bigint[],
  p_available bigint[],
  out outcomes rta.session_outcome[],
  out meters_held bigint[],
  out accounts_held bigint[]
)
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_request record;
  v_seconds bigint;
  v_amount bigint;
  v_meter integer;
begin
  meters_held := array_fill(0::bigint, array[coalesce(cardinality(p_left), 0)]);
  accounts_held := array_fill(0::bigint, array[coalesce(cardinality(p_available), 0)]);
  for v_request in
    select * from rta.requests_to_admit(p_callers, p_caller_at, p_valid_until, p_requests, p_claims, v_now)
  loop
    outcomes[v_request.at] := row(
      v_request.kind, null, null, null, v_request.avatar_name, (v_request.replayed).body_hash, (v_request.replayed).status,
      (v_request.replayed).location, (v_request.replayed).etag, (v_request.replayed).answer, (v_request.replayed).sealed_for,
      (v_request.replayed).figures
    );
    continue when v_request.kind <> 'written';
    v_seconds := v_request.max_seconds;
    for v_at in 1 .. cardinality(v_request.meters_at) loop
      v_seconds := least(v_seconds, p_left[v_request.meters_at[v_at]] / v_request.price);
      if v_seconds < v_request.min_seconds then
        outcomes[v_request.at].kind := 'spend_limit_exceeded';
        outcomes[v_request.at].limited_by :=
          case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
        exit;
      end if;
    end loop;
    continue when v_seconds < v_request.min_seconds;
    v_seconds := least(v_seconds, p_available[v_request.account_at] / v_request.price);
    if v_seconds < v_request.min_seconds then
      outcomes[v_request.at].kind := 'insufficient_credits';
      continue;
    end if;

    v_amount := v_seconds * v_request.price;
    outcomes[v_request.at].reserved := v_amount;
    outcomes[v_request.at].expires_at :=
      date_trunc('milliseconds', v_now) + make_interval(secs => v_request.start_seconds);
    p_available[v_request.account_at] := p_available[v_request.account_at] - v_amount;
    accounts_held[v_request.account_at] := accounts_held[v_request.account_at] + v_amount;
    foreach v_meter in array v_request.meters_at loop
      p_left[v_meter] := p_left[v_meter] - v_amount;
      meters_held[v_meter] := meters_held[v_meter] + v_amount;
    end loop;
  end loop;
end $$;
create function rta.insert_usage_sessions(
  p_callers rta.charged_caller[],
  p_caller_at integer[],
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_outcomes rta.session_outcome[]
) returns void
language plpgsql as $$
begin
  if p_claims is not null then
    insert into public.idempotency_keys (
      tenant_id, api_key_id, request, idempotency_key, audit_event_id,
      body_hash, status, location, etag, answer, sealed_for, figures, created_at
    )
    select caller.tenant_id, caller.api_key_id, claim.request, claim.idempotency_key, claim.entry_id, claim.body_hash,
      claim.status, claim.location, claim.etag, claim.answer, claim.sealed_for,
      json_build_object(
        'avatarName', claim.avatar_name, 'reservedCreditMicros', claim.reserved,
        'expiresAt', to_char(claim.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
      ),
      now()
    from rows from (unnest(p_claims), unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
      claim (
        request, idempotency_key, body_hash, status, location, etag, answer, sealed_for,
        session_id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
        created_at, caller_at, kind, limited_by, reserved, expires_at, avatar_name,
        replayed_body_hash, replayed_status, replayed_location, replayed_etag, replayed_answer, replayed_sealed_for
      )
    join unnest(p_callers) caller on caller.caller_at = claim.caller_at
    where claim.request is not null and claim.kind = 'written'
    order by 1, 2, 3, 4
    on conflict (tenant_id, api_key_id, request, idempotency_key) do update
      set audit_event_id = excluded.audit_event_id, body_hash = excluded.body_hash, status = excluded.status,
        location = excluded.location, etag = excluded.etag, answer = excluded.answer,
        sealed_for = excluded.sealed_for, figures = excluded.figures, created_at = excluded.created_at;
  end if;

  insert into public.usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata, created_at, expires_at
  )
  select caller.tenant_id, request.id, caller.environment, caller.api_key_id, caller.lineage, avatar_id, 'reserved',
    reserved, price, metadata, created_at, expires_at
  from rows from (unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
    request (
      id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
      created_at, caller_at
    )
  join unnest(p_callers) caller on caller.caller_at = request.caller_at
  where kind = 'written';

  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at
  )
  select caller.tenant_id, entry_id, caller.environment, 'hold', reserved, request.id, caller.api_key_id, request_id,
    created_at
  from rows from (unnest(p_requests), unnest(p_caller_at), unnest(p_outcomes))
    request (
      id, environment, avatar_id, max_seconds, min_seconds, price, start_seconds, metadata, entry_id, request_id,
      created_at, caller_at
    )
  join unnest(p_callers) caller on caller.caller_at = request.caller_at
  where kind = 'written';
end $$;
create function rta.open_usage_sessions(
  p_callers rta.caller[],
  p_caller_at integer[],
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_wait boolean
) returns setof rta.session_outcome
language plpgsql as $$
declare
  v_valid_until timestamptz[] := rta.lock_callers(p_callers, p_caller_at, p_wait);
  v_counters rta.counters;
  v_used bigint[];
  v_available bigint[];
  v_admitted record;
begin
  v_counters := rta.counters_of_callers(p_callers, p_caller_at, v_valid_until);
  v_used := rta.lock_meters(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids);
  v_available := rta.lock_accounts(v_counters.account_tenant_ids, v_counters.account_environments);
  select * into v_admitted from rta.admit_sessions(
    v_counters.callers, p_caller_at, v_valid_until, p_requests, p_claims,
    array(select cap - used from unnest(v_counters.caps, v_used) with ordinality meter (cap, used, at) order by at),
    v_available
  );

  update public.api_key_meters meter set reserved = meter.reserved + held.amount
  from unnest(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids, v_admitted.meters_held)
    held (tenant_id, api_key_id, amount)
  where meter.tenant_id = held.tenant_id and meter.api_key_id = held.api_key_id and held.amount > 0;
  update public.credit_accounts account
  set reserved = account.reserved + held.amount, version = account.version + 1, updated_at = now()
  from unnest(v_counters.account_tenant_ids, v_counters.account_environments, v_admitted.accounts_held)
    held (tenant_id, environment, amount)
  where account.tenant_id = held.tenant_id and account.environment = held.environment and held.amount > 0;
  perform rta.insert_usage_sessions(v_counters.callers, p_caller_at, p_requests, p_claims, v_admitted.outcomes);
  return query select * from unnest(v_admitted.outcomes);
end $$;
create function rta.close_sessions(p_closings rta.closing[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', p_now);
  v_change record;
begin
  for v_change in
    select closing.tenant_id, metered.api_key_id, sum(closing.reserved)::bigint as reserved,
      sum(closing.charged)::bigint as charged
    from unnest(p_closings) closing cross join lateral unnest(closing.lineage) metered (api_key_id)
    group by 1, 2
  loop
    update public.api_key_meters set reserved = reserved - v_change.reserved, settled = settled + v_change.charged
    where tenant_id = v_change.tenant_id and api_key_id = v_change.api_key_id;
  end loop;
  for v_change in
    select tenant_id, environment, sum(reserved)::bigint as reserved, sum(charged)::bigint as charged
    from unnest(p_closings) group by 1, 2
  loop
    update public.credit_accounts
    set reserved = reserved - v_change.reserved, settled = settled + v_change.charged, version = version + 1,
      updated_at = v_now
    where tenant_id = v_change.tenant_id and environment = v_change.environment;
  end loop;

  update public.usage_sessions session
  set status = closing.status, used = closing.charged, reason = closing.reason,
    ended_at = greatest(v_now, session.started_at), version = session.version + 1
  from unnest(p_closings) closing
  where session.tenant_id = closing.tenant_id and session.id = closing.session_id;
  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at
  )
  select tenant_id, settle_entry_id, environment, 'settle', charged, session_id, api_key_id, request_id, v_now
  from unnest(p_closings)
  union all
  select tenant_id, rest_entry_id, environment, rest, reserved - charged, session_id, api_key_id, request_id, v_now
  from unnest(p_closings);
end $$;
create function rta.must_end(p_session public.usage_sessions) returns boolean
language plpgsql stable as $$
begin
  return not exists (
    select from public.api_keys own
    where own.tenant_id = p_session.tenant_id and own.id = p_session.api_key_id
      and not exists (
        select from public.api_keys key
        left join public.api_key_meters meter on meter.tenant_id = key.tenant_id and meter.api_key_id = key.id
        where key.tenant_id = own.tenant_id and key.id = any (own.lineage || own.id)
          and (
            key.revoked_at is not null or key.expires_at <= clock_timestamp()
            or key.environment = p_session.environment and meter.settled + meter.reserved > key.spend_limit_credit_micros
          )
      )
  );
end $$;
create function rta.present_session(p_tenant_id text, p_id text) returns rta.usage_session
language plpgsql stable as $$
begin
  return (
    select row(
      session.id, session.environment, session.api_key_id, session.avatar_id, avatar.display_name, session.status,
      session.reserved, session.used, session.price, session.metadata, session.version, session.created_at,
      session.started_at, session.ended_at, session.expires_at
    )::rta.usage_session
    from public.usage_sessions session
    left join public.avatars avatar on avatar.tenant_id = session.tenant_id and avatar.id = session.avatar_id
    where session.tenant_id = p_tenant_id and session.id = p_id
  );
end $$;
create function rta.session_figures(p_session rta.usage_session) returns json
language sql stable as $$
  select json_build_object(
    'sessionId', p_session.id,
    'environment', p_session.environment,
    'apiKeyId', p_session.api_key_id,
    'avatarId', p_session.avatar_id,
    'avatarName', p_session.avatar_name,
    'status', p_session.status,
    'startedAt', to_char(p_session.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'endedAt', to_char(p_session.ended_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'activeSeconds', floor(extract(epoch from p_session.ended_at - p_session.started_at)),
    'billedCreditMicros', case when p_session.ended_at is not null then p_session.used end,
    'usedCreditMicros', p_session.used,
    'priceCreditMicrosPerSecond', p_session.price,
    'metadata', p_session.metadata,
    'createdAt', to_char(p_session.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'reservedCreditMicros', p_session.reserved,
    'expiresAt', to_char(p_session.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  )
$$;
create function rta.stored_session_change(p_caller rta.caller, p_claim rta.claim) returns public.idempotency_keys
language plpgsql as $$
declare
  v_stored public.idempotency_keys;
begin
  if p_claim.request is not null then
    select * into v_stored from public.idempotency_keys
    where tenant_id = p_caller.tenant_id and api_key_id = p_caller.id and request = p_claim.request
      and idempotency_key = p_claim.idempotency_key and created_at > now() - interval '24 hours';
  end if;
  return v_stored;
end $$;
create function rta.store_session_change(
  p_caller rta.caller,
  p_claim rta.claim,
  p_session rta.usage_session,
  p_figures json
) returns void
language sql as $$
  insert into public.idempotency_keys (
    tenant_id, api_key_id, request, idempotency_key, audit_event_id,
    body_hash, status, location, etag, answer, sealed_for, figures, created_at
  )
  values (
    p_caller.tenant_id, p_caller.id, p_claim.request, p_claim.idempotency_key, p_session.id,
    p_claim.body_hash, p_claim.status, p_claim.location, '"' || p_session.version || '"', p_claim.answer,
    p_claim.sealed_for, p_figures, now()
  )
  on conflict (tenant_id, api_key_id, request, idempotency_key) do update
    set audit_event_id = excluded.audit_event_id, body_hash = excluded.body_hash, status = excluded.status,
      location = excluded.location, etag = excluded.etag, answer = excluded.answer,
      sealed_for = excluded.sealed_for, figures = excluded.figures, created_at = excluded.created_at
$$;
create function rta.report_usage(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_used bigint,
  p_lease_seconds integer,
  p_claim rta.claim
) returns table (
  kind text,
  must_end boolean,
  session rta.usage_session,
  body_hash bytea,
  etag text,
  figures json
)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_stored public.idempotency_keys;
  v_now timestamptz;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select * into v_session from public.usage_sessions
  where v_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_environment and id = p_session_id
  for no key update;
  v_now := date_trunc('milliseconds', clock_timestamp());
  v_stored := rta.stored_session_change(p_caller, p_claim);
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when v_stored.request is not null then 'replayed'
    when v_session.id is null then 'not_found'
    when v_session.ended_at is not null or v_session.expires_at <= v_now then 'session_closed'
    else 'written'
  end;
  if kind = 'replayed' then
    body_hash := v_stored.body_hash;
    etag := v_stored.etag;
    figures := v_stored.figures;
  elsif kind = 'session_closed' then
    session := rta.present_session(v_session.tenant_id, v_session.id);
  elsif kind = 'written' then
    update public.usage_sessions set
      status = 'started', started_at = coalesce(started_at, v_now),
      used = least(reserved, greatest(used, p_used)),
      expires_at = v_now + make_interval(secs => p_lease_seconds), version = version + 1
    where tenant_id = v_session.tenant_id and id = v_session.id;
    must_end := rta.must_end(v_session);
    session := rta.present_session(v_session.tenant_id, v_session.id);
    if p_claim.request is not null then
      perform rta.store_session_change(p_caller, p_claim, session, (
        left(rta.session_figures(session)::text, -1) || ', "mustEnd" : ' || must_end || '}'
      )::json);
    end if;
  end if;
  return next;
end $$;
create function rta.release_session(
  p_caller rta.caller,
  p_environment text,
  p_session_id text,
  p_is_engine boolean,
  p_used bigint,
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_claim rta.claim
) returns table (
  kind text,
  has_ended boolean,
  session rta.usage_session,
  body_hash bytea,
  etag text,
  figures json
)
language plpgsql as $$
declare
  v_session public.usage_sessions;
  v_stored public.idempotency_keys;
  v_closing rta.closing;
  v_now timestamptz;
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
begin
  select * into v_session from public.usage_sessions
  where v_valid_until is not null and tenant_id = p_caller.tenant_id and environment = p_environment and id = p_session_id
    and (p_is_engine or p_caller.id = any (lineage))
  for no key update;
  v_closing := row(
    v_session.tenant_id, v_session.environment, v_session.id, v_session.api_key_id, v_session.lineage, v_session.reserved,
    v_session.used, 'released', 'release', p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id
  );
  if v_session.id is not null and v_session.ended_at is null then
    perform rta.lock_counters(array[v_closing]);
  end if;
  v_now := clock_timestamp();
  v_stored := rta.stored_session_change(p_caller, p_claim);
  kind := case
    when (v_valid_until > v_now) is not true then 'stale'
    when v_stored.request is not null then 'replayed'
    when v_session.id is null then 'not_found'
    else 'written'
  end;
  has_ended := kind = 'written' and v_session.ended_at is null;
  if has_ended then
    if v_session.expires_at <= v_now then
      v_closing.status := case when v_session.started_at is null then 'failed' else 'released' end;
      v_closing.rest := 'expire';
    elsif p_is_engine then
      v_closing.charged := least(v_session.reserved, coalesce(p_used, v_session.used));
    elsif v_session.started_at is not null then
      v_closing.charged := least(
        v_session.reserved,
        greatest(v_session.used, floor(extract(epoch from v_now - v_session.started_at)) * v_session.price)
      );
    end if;
    perform rta.close_sessions(array[v_closing], v_now);
  end if;

  if kind = 'replayed' then
    body_hash := v_stored.body_hash;
    etag := v_stored.etag;
    figures := v_stored.figures;
  elsif kind = 'written' then
    session := rta.present_session(v_session.tenant_id, v_session.id);
    if p_is_engine and p_used is not null and least(v_session.reserved, p_used) <> v_closing.charged then
      kind := 'session_closed';
    elsif p_claim.request is not null then
      perform rta.store_session_change(p_caller, p_claim, session, rta.session_figures(session));
    end if;
  end if;
  return next;
end $$;
create function rta.sweep_sessions(p_tenant_id text, p_entry_ids text[], p_request_id text) returns integer
language plpgsql as $$
declare
  v_sessions public.usage_sessions[];
  v_closings rta.closing[];
begin
  if p_tenant_id is null then
    v_sessions := array(
      select overdue from public.usage_sessions overdue
      where ended_at is null and expires_at <= now()
      order by expires_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    );
  else
    v_sessions := array(
      select overdue from public.usage_sessions overdue
      where ended_at is null
        and (tenant_id, expires_at) >= (p_tenant_id, '-infinity') and (tenant_id, expires_at) <= (p_tenant_id, now())
      order by tenant_id, expires_at limit cardinality(p_entry_ids) / 2
      for no key update skip locked
    );
  end if;
  if cardinality(v_sessions) = 0 then
    return 0;
  end if;

  v_closings := array(
    select row(
      tenant_id, environment, id, api_key_id, lineage, reserved, used,
      case when started_at is null then 'failed' else 'released' end, 'expire', null,
      p_entry_ids[2 * ordinality - 1], p_entry_ids[2 * ordinality], p_request_id
    )::rta.closing
    from unnest(v_sessions) with ordinality
  );
  perform rta.lock_counters(v_closings);
  perform rta.close_sessions(v_closings, clock_timestamp());
  return cardinality(v_closings);
end $$;
