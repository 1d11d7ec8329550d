-- Whether a secret may report its own key as leaked at `p_now`: while it is not retired, and for seven days after its
-- own key retired it by a rotation, because a thief may have made that rotation. A secret that another key or the
-- operator has retired may not report. So the owner can take a key back from the holder of an old secret.
create function rta.may_report(p_retired_at timestamptz, p_is_retired_by_own_key boolean, p_now timestamptz)
returns boolean
language sql stable as $$
  select coalesce(
    p_retired_at is null or p_retired_at > p_now or (p_is_retired_by_own_key and p_retired_at > p_now - interval '7 days'),
    false
  )
$$;
