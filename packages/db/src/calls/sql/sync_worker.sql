-- Registers a worker, renews its lease, writes the reports of its calls, and returns its work:
--   'start'  its calls whose room exists and that it does not list
--   'move'   listed calls that are in another room now
--   'grow'   listed calls that can go on for longer now
--   'end'    listed calls that it does not have; `reason`: null while the call is open (another worker has
--            it, or its lease has expired)
--   'rooms'  the rooms of the calls that this sync has closed
--   'preloads'  avatars that it must load before a call
--   'turns'  the turns of its started calls that it does not list; null without any
-- A report of a call is written when it changes the state of the call, and otherwise after ten seconds. A call that is
-- reported as ended is closed and charged the reported usage. A worker without slots and calls is stopping: its lease
-- ends now. `lease_ends`: the end of the worker's lease, for lose_worker. `has_voices`: whether the voices and models
-- of the worker are known. `usage`: see usage_of_worker; null for a worker without conversations. `shared`: for a
-- worker of several shards, its slots here (share_slots) and the calls that wait; null for other workers. A worker of
-- several shards does not stop when it has no slots and calls here.
--
-- Lock order: the worker, the sessions by primary key, their calls and counters (lock_counters), calls with turns (skip
-- locked), slots, preloads. Locked slots and preloads are skipped: they have news for the next sync. While the worker
-- is locked, no other statement moves its calls (expire_workers).
create function rta.sync_worker(
  p_worker_id text,
  p_slots integer,
  p_features text[],
  p_voices text[],      -- null: unchanged since an earlier sync
  p_models text[],      -- the same
  p_calls rta.reported_call[],
  p_usage rta.reported_usage[],
  p_daily_tokens bigint, -- the limit of a tenant; null: no limit
  p_turns rta.reported_turn[],
  p_max_turns integer,  -- the maximum number of turns to hand out; 0: the worker takes no turns
  p_lease_seconds integer,
  p_session_lease_seconds integer,
  p_entry_ids text[],   -- two for each call that is reported as ended
  p_request_id text,
  out result json,
  out lease_ends timestamptz,
  out has_voices boolean,
  out usage json,
  out shared json
)
language plpgsql as $$
declare
  v_now timestamptz := date_trunc('milliseconds', clock_timestamp());
  v_last_sync timestamptz := (select synced_at from fleet.avatar_workers where id = p_worker_id);
  v_rooms text[];
  v_turns json;
  v_is_shared boolean := 'shared_slots' = any (p_features);
  v_stops boolean := p_slots = 0 and cardinality(p_calls) = 0 and not v_is_shared;
begin
  insert into fleet.avatar_workers as worker (id, features, voices, models, slots, lease_until, synced_at)
  values (
    p_worker_id, p_features, p_voices, p_models, p_slots,
    v_now + case when v_stops then interval '0' else make_interval(secs => p_lease_seconds) end,
    v_now
  )
  on conflict (id) do update
    set features = excluded.features, voices = coalesce(excluded.voices, worker.voices),
      models = coalesce(excluded.models, worker.models), slots = excluded.slots, lease_until = excluded.lease_until,
      synced_at = excluded.synced_at
  returning lease_until, voices is not null and models is not null into lease_ends, has_voices;
  v_rooms := rta.write_reports(
    p_worker_id, extract(epoch from v_now - v_last_sync)::double precision, p_calls, p_usage, p_turns,
    p_session_lease_seconds, p_entry_ids, p_request_id
  );
  if p_max_turns > 0 then
    v_turns := rta.hand_out_turns(p_worker_id, p_calls, p_turns, p_max_turns);
  end if;
  -- After the counters: see expire_workers.
  if v_is_shared then
    shared := rta.share_slots(p_worker_id, p_slots);
  elsif (select count(*) from fleet.avatar_slots where worker_id = p_worker_id) <> p_slots then
    insert into fleet.avatar_slots (worker_id, n) select p_worker_id, n from generate_series(1, p_slots) n
    on conflict do nothing;
    delete from fleet.avatar_slots slot
    where slot.worker_id = p_worker_id and slot.n in (
      select free.n from fleet.avatar_slots free
      where free.worker_id = p_worker_id and free.n > p_slots and free.session_id is null
      for update skip locked
    );
  end if;
  update fleet.avatar_slots slot set has_news = false
  where slot.worker_id = p_worker_id and slot.n in (
    select news.n from fleet.avatar_slots news
    where news.worker_id = p_worker_id and news.has_news
    for no key update skip locked
  );
  update fleet.avatar_preloads preload set has_news = false
  where (preload.tenant_id, preload.environment) in (
    select news.tenant_id, news.environment from fleet.avatar_preloads news
    where news.worker_id = p_worker_id and news.has_news
    for no key update skip locked
  );
  if 'conversation' = any (p_features) then
    usage := rta.usage_of_worker(
      p_worker_id, p_daily_tokens, (date_trunc('milliseconds', clock_timestamp()) at time zone 'UTC')::date
    );
  end if;
  result := rta.work_of_worker(p_worker_id, p_calls, v_rooms, v_turns);
end $$;
