-- Writes an admitted video, its job, its usage session and its hold. The calling function has locked the meters and the
-- account.
create function rta.insert_video(
  p_caller rta.caller,
  p_request rta.video_request,
  p_charged rta.charged_caller,
  p_outcome rta.session_outcome,
  p_voice_id text,
  p_warnings text[]
) returns void
language plpgsql as $$
begin
  update public.api_key_meters set reserved = reserved + p_outcome.reserved
  where tenant_id = p_caller.tenant_id and api_key_id = any (p_charged.lineage);
  update public.credit_accounts
  set reserved = reserved + p_outcome.reserved, version = version + 1, updated_at = date_trunc('milliseconds', now())
  where tenant_id = p_caller.tenant_id and environment = p_request.environment;
  insert into public.usage_sessions (
    tenant_id, id, environment, api_key_id, lineage, avatar_id, status, reserved, price, metadata, created_at, started_at,
    expires_at, sweep_at, is_counted, video_id
  ) values (
    p_caller.tenant_id, /* id */ p_request.session_id, p_request.environment, /* api_key_id */ p_caller.id, p_charged.lineage,
    p_request.avatar_id, 'started', p_outcome.reserved, p_request.price, /* metadata */ p_request.session_metadata, p_request.created_at,
    /* started_at */ p_request.created_at, p_outcome.expires_at, /* sweep_at */ p_outcome.expires_at, false, /* video_id */ p_request.id
  );
  insert into public.credit_entries (
    tenant_id, id, environment, kind, amount, session_id, api_key_id, request_id, created_at
  ) values (
    p_caller.tenant_id, /* id */ p_request.entry_id, p_request.environment, 'hold', /* amount */ p_outcome.reserved, p_request.session_id,
    /* api_key_id */ p_caller.id,
    p_request.request_id, p_request.created_at
  );
  insert into public.videos (
    tenant_id, id, environment, avatar_id, text, audio_asset_id, voice_id, status, reserved_credit_micros, session_id, api_key_id,
    warnings, metadata, version, created_at, updated_at
  ) values (
    p_caller.tenant_id, p_request.id, p_request.environment, p_request.avatar_id, p_request.text, p_request.audio_asset_id,
    p_voice_id, 'queued', /* reserved_credit_micros */ p_outcome.reserved, p_request.session_id, /* api_key_id */ p_caller.id, p_warnings,
    p_request.metadata, 1, p_request.created_at, /* updated_at */ p_request.created_at
  );
  perform rta.insert_job(row(
    p_caller.tenant_id, /* id */ p_request.job_id, p_request.environment, 'render_video', /* target_id */ p_request.id, /* generation */ 1,
    /* run_at */ p_request.created_at
  )::rta.job);
end $$;
