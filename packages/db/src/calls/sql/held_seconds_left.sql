-- For how many seconds a call can still go on with what it holds, by the clock. While its seconds do not count, by what was reported.
-- Of columns: in a query, a row of a shard does not have the type of the table.
create function rta.held_seconds_left(
  p_reserved bigint, p_used bigint, p_price bigint, p_counts_from timestamptz, p_now timestamptz
) returns double precision
language sql immutable as $$
  select p_reserved / p_price - coalesce(extract(epoch from p_now - p_counts_from)::double precision, p_used / p_price)
$$;
