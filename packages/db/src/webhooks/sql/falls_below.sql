-- Whether an account of which `p_before` was available, and `p_after` is now, has fallen below its threshold: `p_threshold` is that of
-- before, `p_new_threshold` that of now; null without one. `credits.low` is sent at that moment alone, so again only after more was
-- available. Available is what no session holds: a hold lowers it, and what comes back raises it.
create function rta.falls_below(p_before bigint, p_after bigint, p_threshold bigint, p_new_threshold bigint) returns boolean
language sql immutable as $$
  select p_after < p_new_threshold and (p_before < p_threshold) is not true
$$;
