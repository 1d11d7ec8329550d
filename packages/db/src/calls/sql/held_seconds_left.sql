-- For how many seconds a call can still go on with what it holds, by the clock. While its seconds do not count, by what was reported.
create function rta.held_seconds_left(
  p_session public.usage_sessions, p_counts_from timestamptz, p_now timestamptz
) returns double precision
language sql immutable as $$
  select p_session.reserved / p_session.price
    - coalesce(extract(epoch from p_now - p_counts_from)::double precision, p_session.used / p_session.price)
$$;
