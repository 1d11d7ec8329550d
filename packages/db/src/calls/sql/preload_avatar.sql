-- Requests a worker to load an avatar before a call: the worker whose slot the next call gets, if it can load avatars.
-- A tenant has one such request in each environment: the latest. Returns the outcome:
--   'written'
--   'not_found'  nothing is written: no such avatar exists
--   'not_ready'  nothing is written: the avatar has the status `avatar_status`
--   'stale'      nothing is written: the caller has changed since its look-up
--   'replayed'   nothing is written: the stored response follows
-- Only 'written' keeps the claim. The outcome is also 'written' when no worker can load the avatar; then the next call
-- loads it.
--
-- Lock order: the caller (lock_caller), the claim, the preloads. It locks no slot, because a concurrent start would
-- skip a locked slot.
create function rta.preload_avatar(
  p_caller rta.caller,
  p_environment text,
  p_avatar_id text,
  p_preload_id text,
  p_feature text,   -- the feature of workers that can load avatars
  p_seconds integer,
  p_claim rta.claim -- null without an Idempotency-Key
) returns table (
  outcome text,
  avatar_status text,
  body_hash bytea,
  response_status integer,
  location text,
  etag text,
  response_body bytea,
  sealed_for text
)
language plpgsql as $$
declare
  v_valid_until timestamptz := rta.lock_caller(p_caller, true);
  v_attempt rta.audit_event; -- the attempt of the claim; no event is written
  v_outcome rta.write_outcome;
  v_refusal text;
  v_worker_id text;
  v_now timestamptz;
begin
  v_attempt.id := p_preload_id;
  v_outcome := rta.claim_write(p_caller, v_valid_until, p_claim, v_attempt);
  if v_outcome.kind = 'written' then
    select avatar.status into avatar_status from public.avatars avatar
    where avatar.tenant_id = p_caller.tenant_id and avatar.id = p_avatar_id and avatar.environment = p_environment;
    v_now := date_trunc('milliseconds', clock_timestamp());
    v_refusal := case
      when v_valid_until <= v_now then 'stale'
      when avatar_status is null or avatar_status = 'deleted' then 'not_found'
      when avatar_status <> 'ready' then 'not_ready'
    end;
    if v_refusal is not null then
      v_outcome := rta.refuse_write(v_refusal, p_caller, p_claim, v_attempt);
    else
      -- In the order of lock_free_slots.
      select slot.worker_id into v_worker_id
      from fleet.avatar_slots slot
      join fleet.avatar_workers worker
        on worker.id = slot.worker_id and worker.lease_until > v_now and slot.n <= worker.slots
      where slot.session_id is null and p_feature = any (worker.features)
      order by slot.n, slot.worker_id limit 1;
    end if;
  end if;
  if v_worker_id is not null then
    insert into fleet.avatar_preloads as preload (tenant_id, environment, id, avatar_id, worker_id, ends_at, has_news)
    values (
      p_caller.tenant_id, p_environment, p_preload_id, p_avatar_id, v_worker_id, v_now + make_interval(secs => p_seconds), true
    )
    on conflict (tenant_id, environment) do update
      set id = excluded.id, avatar_id = excluded.avatar_id, worker_id = excluded.worker_id, ends_at = excluded.ends_at,
        has_news = true;
    delete from fleet.avatar_preloads where ctid = any (array(
      select ctid from fleet.avatar_preloads
      where worker_id = v_worker_id and ends_at <= v_now order by ends_at limit 100 for update skip locked
    ));
  end if;
  return query select v_outcome.kind, avatar_status, v_outcome.body_hash, v_outcome.status, v_outcome.location, v_outcome.etag,
    v_outcome.response_body, v_outcome.sealed_for;
end $$;
