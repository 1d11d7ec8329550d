-- How an open session ends when its lease has expired: it is charged what was reported.
create function rta.closing_of(
  p_session public.usage_sessions,
  p_closed_by text,
  p_reason text,
  p_settle_entry_id text,
  p_rest_entry_id text,
  p_request_id text
) returns rta.closing
language sql immutable as $$
  select row(
    p_session.tenant_id, p_session.environment, p_session.id, p_session.api_key_id, p_session.lineage, p_session.reserved,
    p_session.is_counted, p_session.reported_by, p_closed_by, p_session.used,
    case when p_session.started_at is null then 'failed' else 'released' end, 'expire', p_reason,
    p_settle_entry_id, p_rest_entry_id, p_request_id
  )::rta.closing
$$;
