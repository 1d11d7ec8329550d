-- The end of an open session. Without `p_now`, or when the lease has expired at `p_now`, the reported usage is charged.
-- Before that, `p_used` is charged if it exceeds the reported usage, but at most the hold of the session.
create function rta.closing_of(
  p_session public.usage_sessions,
  p_closed_by text,
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text,
  p_now timestamptz default null,
  p_is_released boolean default false, -- whether a session that was never started is also 'released', before the end of its lease
  p_used bigint default null
) returns rta.closing
language sql immutable as $$
  select row(
    p_session.tenant_id, p_session.environment, /* session_id */ p_session.id, p_session.api_key_id, p_session.lineage, p_session.reserved,
    p_session.is_counted, p_session.reported_by, p_closed_by,
    /* charged */ case
      when p_session.expires_at > p_now then least(p_session.reserved, greatest(p_session.used, p_used)) -- `greatest` skips null
      else p_session.used
    end,
    /* status */ case when p_session.started_at is null and (p_is_released and p_session.expires_at > p_now) is not true then 'failed' else 'released' end,
    /* rest */ case when p_session.expires_at > p_now then 'release' else 'expire' end,
    p_reason, p_settle_entry_id, p_rest_entry_id, p_request_id
  )::rta.closing
$$;
