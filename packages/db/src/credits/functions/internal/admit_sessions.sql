-- Decides which requests to open a session are admitted, as if they came one by one, in their order. A request is admitted
-- if one more session may be open of every key of its lineage and of the account, and its least seconds fit under the cap of
-- every key of its lineage and under the available balance; it gets as many seconds as fit. A refused request takes nothing.
-- Returns the outcome of each request, and what each meter and each account has to hold in addition: credit micros, and
-- sessions. Writes nothing.
--
-- The calling function has locked the meters and the accounts. So the claims that exist are all that can: two requests
-- with the same claim have the same key, and queue at its meter.
create function rta.admit_sessions(
  p_counters rta.counters,
  p_caller_at integer[],            -- for each request, the position of its caller
  p_valid_until timestamptz[],      -- for each request, until when its caller is valid; null when it is not
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_meters rta.locked_meter[],      -- of p_counters
  p_accounts rta.locked_account[],  -- of p_counters
  out outcomes rta.session_outcome[],
  out meters_held bigint[],
  out meters_opened bigint[],
  out accounts_held bigint[],
  out accounts_opened bigint[]
)
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp(); -- after the last wait
  v_request record;
  v_seconds bigint;
  v_amount bigint;
  v_meter integer;
  v_account integer;
begin
  meters_held := array_fill(0::bigint, array[coalesce(cardinality(p_meters), 0)]);
  meters_opened := meters_held;
  accounts_held := array_fill(0::bigint, array[coalesce(cardinality(p_accounts), 0)]);
  accounts_opened := accounts_held;
  for v_request in
    select * from rta.requests_to_admit(p_counters.callers, p_caller_at, p_valid_until, p_requests, p_claims, v_now)
  loop
    outcomes[v_request.at] := row(
      v_request.kind, null, null, null, null, v_request.avatar_name, (v_request.replayed).body_hash,
      (v_request.replayed).status, (v_request.replayed).location, (v_request.replayed).etag,
      (v_request.replayed).response_body, (v_request.replayed).sealed_for, (v_request.replayed).response_fields
    );
    continue when v_request.kind <> 'written';
    v_account := v_request.account_at;
    for v_at in 1 .. cardinality(v_request.meters_at) loop
      v_meter := v_request.meters_at[v_at];
      if p_meters[v_meter].open_sessions + meters_opened[v_meter] >= p_counters.session_limits[v_meter] then
        outcomes[v_request.at].kind := 'concurrency_limit_reached';
        outcomes[v_request.at].session_limit := p_counters.session_limits[v_meter];
        outcomes[v_request.at].limited_by :=
          case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
        exit;
      end if;
    end loop;
    continue when outcomes[v_request.at].kind <> 'written';
    if p_accounts[v_account].open_sessions + accounts_opened[v_account] >= p_accounts[v_account].session_limit then
      outcomes[v_request.at].kind := 'concurrency_limit_reached';
      outcomes[v_request.at].session_limit := p_accounts[v_account].session_limit;
      outcomes[v_request.at].limited_by := 'tenant';
      continue;
    end if;

    v_seconds := v_request.max_seconds;
    for v_at in 1 .. cardinality(v_request.meters_at) loop
      v_meter := v_request.meters_at[v_at];
      -- `least` skips null: without a cap.
      v_seconds := least(
        v_seconds,
        (p_counters.caps[v_meter] - p_meters[v_meter].used - meters_held[v_meter]) / v_request.price
      );
      if v_seconds < v_request.min_seconds then
        outcomes[v_request.at].kind := 'spend_limit_exceeded';
        outcomes[v_request.at].limited_by :=
          case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
        exit;
      end if;
    end loop;
    continue when v_seconds < v_request.min_seconds;
    v_seconds := least(v_seconds, (p_accounts[v_account].available - accounts_held[v_account]) / v_request.price);
    if v_seconds < v_request.min_seconds then
      outcomes[v_request.at].kind := 'insufficient_credits';
      continue;
    end if;

    v_amount := v_seconds * v_request.price;
    outcomes[v_request.at].reserved := v_amount;
    outcomes[v_request.at].expires_at :=
      date_trunc('milliseconds', v_now) + make_interval(secs => v_request.start_seconds);
    accounts_held[v_account] := accounts_held[v_account] + v_amount;
    accounts_opened[v_account] := accounts_opened[v_account] + 1;
    foreach v_meter in array v_request.meters_at loop
      meters_held[v_meter] := meters_held[v_meter] + v_amount;
      meters_opened[v_meter] := meters_opened[v_meter] + 1;
    end loop;
  end loop;
end $$;
