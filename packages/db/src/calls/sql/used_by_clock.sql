-- The usage of a call, in credit micros, when it ends at `p_now` without a last report: the reported usage or, if that
-- is more, the seconds for which both sides were present (`counts_from`), rounded up; at most its hold. Seconds count
-- until the last sync of its worker. While the worker's lease is current, two more seconds count, because its next sync
-- comes after a second. Without them, a caller who ends the call would not be charged for the seconds since the last
-- report or sync. The calling function has locked the session, so the worker's reports of it wait.
create function rta.used_by_clock(p_session public.usage_sessions, p_now timestamptz) returns bigint
language sql stable as $$
  select least(p_session.reserved, greatest(p_session.used, p_session.price * (
    select ceil(extract(epoch from least(
      p_now,
      -- The previous release writes only the end of the lease: 15 seconds (LEASE_SECONDS) after the sync.
      greatest(worker.synced_at, worker.lease_until - interval '15 seconds')
        + case when worker.lease_until > p_now then interval '2 seconds' else interval '0' end
    ) - call.counts_from))
    from public.calls call
    join fleet.avatar_slots slot on slot.session_id = call.session_id
    join fleet.avatar_workers worker on worker.id = slot.worker_id
    where call.tenant_id = p_session.tenant_id and call.session_id = p_session.id
  )))::bigint
$$;
