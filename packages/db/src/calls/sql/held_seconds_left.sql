-- For how many seconds a call can still go on with its hold: by the clock, or by the reported usage while its seconds
-- do not count. The parameters are columns, because in a query a row of a shard does not have the type of the table.
create function rta.held_seconds_left(
  p_reserved bigint, p_used bigint, p_price bigint, p_counts_from timestamptz, p_now timestamptz
) returns double precision
language sql immutable as $$
  select p_reserved / p_price - coalesce(extract(epoch from p_now - p_counts_from)::double precision, p_used / p_price)
$$;
