-- Whether an account has fallen below its threshold, when its available credits change from `p_before` to `p_after` and
-- its threshold from `p_threshold` to `p_new_threshold` (null without one). `credits.low` is sent only at that moment,
-- and so again only after more was available. A hold lowers the available credits; a freed hold raises them.
create function rta.falls_below(p_before bigint, p_after bigint, p_threshold bigint, p_new_threshold bigint) returns boolean
language sql immutable as $$
  select p_after < p_new_threshold and (p_before < p_threshold) is not true
$$;
