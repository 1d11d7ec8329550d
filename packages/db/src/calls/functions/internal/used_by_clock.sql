-- What a call has used, in credit micros, when it ends at `p_now` without a last report: what was reported or, if that is more, the
-- seconds since its start, rounded up. At most what it holds; nothing when it never started.
create function rta.used_by_clock(p_session public.usage_sessions, p_now timestamptz) returns bigint
language sql immutable as $$
  select least(
    p_session.reserved,
    greatest(p_session.used, ceil(extract(epoch from p_now - p_session.started_at))::bigint * p_session.price)
  )
$$;
