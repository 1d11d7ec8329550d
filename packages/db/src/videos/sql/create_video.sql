-- Creates a video with its job, and its usage session, which holds credits under the cap of every key of the lineage
-- and the balance of the account. The session is started and not counted: it takes no place from calls, and a release
-- by a key without `usage:write` only marks it. Returns the outcome:
--   'written'    `decided`: the fields that only the write knows
--   'stale'      nothing is written: the caller has changed since its look-up
--   'replayed'   nothing is written: the stored response follows, with its `decided`
--   'asset_not_found', 'asset_kind_mismatch', 'asset_not_usable' (`asset_status`), 'audio_too_long'  the audio is refused
--   'too_many_videos'  the maximum number of videos is queued or rendered
--   'avatar_not_found', 'avatar_not_ready' (`avatar_status`), 'spend_limit_exceeded' (`limited_by`), 'insufficient_credits': see
--                the type session_outcome. `required`: the credits that the video must hold
-- Only 'written' keeps the claim.
--
-- Lock order: the caller (lock_caller), the claim, the meters and the account, as open_usage_sessions, the new rows,
-- the events. The running videos are counted under the lock of the account, for which creates of a tenant in one
-- environment wait.
create function rta.create_video(
  p_caller rta.caller,
  p_request rta.video_request,
  p_claim rta.claim, -- null without an Idempotency-Key
  out kind text,
  out avatar_status text,
  out asset_status text,
  out limited_by text,
  out required bigint,
  out decided json,
  out body_hash bytea,
  out response_status integer,
  out location text,
  out etag text,
  out response_body bytea,
  out sealed_for text
)
language plpgsql as $$
declare
  v_valid_until timestamptz[] := array[rta.lock_caller(p_caller, true)];
  v_attempt rta.audit_event;
  v_write rta.write_outcome;
  v_audio record;
  v_seconds bigint := p_request.seconds;
  v_refusal text;
  v_counters rta.counters;
  v_meters rta.locked_meter[];
  v_account rta.locked_account;
  v_session rta.session_request;
  v_admitted record;
  v_outcome rta.session_outcome;
  v_voice_id text;
  v_default_voice_id text;
  v_warnings text[] := '{}';
begin
  v_attempt.id := p_request.entry_id;
  v_write := rta.claim_write(p_caller, v_valid_until[1], p_claim, v_attempt);
  if v_write.kind <> 'written' then
    kind := v_write.kind;
    body_hash := v_write.body_hash;
    response_status := v_write.status;
    location := v_write.location;
    etag := v_write.etag;
    response_body := v_write.response_body;
    sealed_for := v_write.sealed_for;
    if kind = 'replayed' then
      decided := rta.stored_response_fields(p_caller, p_claim);
    end if;
    return;
  end if;

  if p_request.audio_asset_id is not null then
    select asset.status, asset.kind as kind, ceil(asset.duration_ms / 1000.0)::bigint as seconds into v_audio from public.assets asset
    where asset.tenant_id = p_caller.tenant_id and asset.id = p_request.audio_asset_id and asset.environment = p_request.environment;
    asset_status := v_audio.status;
    -- The length of a file from before this version is unknown.
    v_seconds := greatest(coalesce(v_audio.seconds, p_request.max_audio_seconds), 1);
    v_refusal := case
      when v_audio.status is null then 'asset_not_found'
      when v_audio.kind <> 'audio' then 'asset_kind_mismatch'
      when v_audio.status <> 'ready' then 'asset_not_usable'
      when v_seconds > p_request.max_audio_seconds then 'audio_too_long'
    end;
  end if;
  if v_refusal is null then
    v_counters := rta.counters_of_callers(array[p_caller], array[1], v_valid_until);
    -- A video does not count as an open session.
    v_counters.session_limits := array_fill(null::bigint, array[coalesce(cardinality(v_counters.meter_api_key_ids), 0)]);
    v_meters := rta.lock_meters(v_counters.meter_tenant_ids, v_counters.meter_api_key_ids);
    select granted - forfeited - settled - reserved, account.open_sessions, null, account.low_threshold
    into v_account.available, v_account.open_sessions, v_account.session_limit, v_account.low_threshold
    from public.credit_accounts account
    where account.tenant_id = p_caller.tenant_id and account.environment = p_request.environment
    for no key update;
    v_account.available := coalesce(v_account.available, 0);
    if (
      select count(*) from (
        select from public.videos
        where environment = p_request.environment and tenant_id = p_caller.tenant_id and status in ('queued', 'rendering')
        limit p_request.max_videos
      ) running
    ) >= p_request.max_videos then
      v_refusal := 'too_many_videos';
    end if;
  end if;
  if v_refusal is null then
    v_session := row(
      /* id */ p_request.session_id, p_request.environment, p_request.avatar_id, /* max_seconds */ v_seconds,
      /* min_seconds */ v_seconds, p_request.price, /* start_seconds */ p_request.session_seconds,
      /* metadata */ p_request.session_metadata, p_request.entry_id, p_request.request_id, p_request.created_at
    )::rta.session_request;
    select * into v_admitted from rta.admit_sessions(
      v_counters, array[1], v_valid_until, array[v_session], null, null, v_meters, array[v_account], null
    );
    v_outcome := (v_admitted.outcomes)[1];
    avatar_status := v_outcome.avatar_status;
    limited_by := v_outcome.limited_by;
    if v_outcome.kind <> 'written' then
      v_refusal := v_outcome.kind;
    end if;
  end if;
  required := v_seconds * p_request.price;
  if v_refusal is not null then
    kind := (rta.refuse_write(v_refusal, p_caller, p_claim, v_attempt)).kind;
    if v_refusal = 'insufficient_credits' then
      perform rta.announce_opening(v_counters, v_session, v_account, v_admitted.accounts_held, v_admitted.outcomes);
    end if;
    return;
  end if;

  if p_request.text is not null then
    select default_voice_id into v_default_voice_id from public.avatars
    where tenant_id = p_caller.tenant_id and id = p_request.avatar_id;
    v_voice_id := coalesce(
      p_request.voice_id, case when v_default_voice_id = any (p_request.voice_ids) then v_default_voice_id end,
      p_request.default_voice_id
    );
    if p_request.voice_id is null and v_default_voice_id <> all (p_request.voice_ids) then
      v_warnings := array[
        'The default voice of the avatar does not exist: ' || v_default_voice_id || '. The voice is ' || v_voice_id || '.'
      ];
    end if;
  end if;
  perform rta.insert_video(p_caller, p_request, v_counters.callers[1], v_outcome, v_voice_id, v_warnings);
  kind := 'written';
  decided := row_to_json(row(
    /* voiceId */ v_voice_id, /* reservedCreditMicros */ v_outcome.reserved, v_warnings
  )::rta.decided_fields);
  if p_claim.request is not null then
    perform rta.store_response_fields(p_caller, p_claim, decided);
  end if;
  perform rta.announce_opening(v_counters, v_session, v_account, v_admitted.accounts_held, v_admitted.outcomes);
end $$;
