-- Decides which requests to open a session are admitted, as if they came one by one, in their order. A request is admitted
-- if its least seconds fit under the cap of every key of its lineage and under the available balance, and gets as many
-- seconds as fit. A refused request takes nothing. Returns the outcome of each request, and what each meter and each account
-- has to hold in addition. Writes nothing.
--
-- The calling function has locked the meters and the accounts. So the claims that exist are all that can: two requests
-- with the same claim have the same key, and queue at its meter.
create function rta.admit_sessions(
  p_callers rta.charged_caller[],
  p_caller_at integer[],            -- for each request, the position of its caller
  p_valid_until timestamptz[],      -- for each request, until when its caller is valid; null when it is not
  p_requests rta.session_request[],
  p_claims rta.claim[],
  p_left bigint[],                  -- for each meter, what is left under the cap; null without a cap
  p_available bigint[],             -- for each account
  out outcomes rta.session_outcome[],
  out meters_held bigint[],
  out accounts_held bigint[]
)
language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp(); -- after the last wait
  v_request record;
  v_seconds bigint;
  v_amount bigint;
  v_meter integer;
begin
  meters_held := array_fill(0::bigint, array[coalesce(cardinality(p_left), 0)]);
  accounts_held := array_fill(0::bigint, array[coalesce(cardinality(p_available), 0)]);
  for v_request in
    select * from rta.requests_to_admit(p_callers, p_caller_at, p_valid_until, p_requests, p_claims, v_now)
  loop
    outcomes[v_request.at] := row(
      v_request.kind, null, null, null, v_request.avatar_name, (v_request.replayed).body_hash, (v_request.replayed).status,
      (v_request.replayed).location, (v_request.replayed).etag, (v_request.replayed).answer, (v_request.replayed).sealed_for,
      (v_request.replayed).figures
    );
    continue when v_request.kind <> 'written';
    v_seconds := v_request.max_seconds;
    for v_at in 1 .. cardinality(v_request.meters_at) loop
      -- `least` skips null: without a cap.
      v_seconds := least(v_seconds, p_left[v_request.meters_at[v_at]] / v_request.price);
      if v_seconds < v_request.min_seconds then
        outcomes[v_request.at].kind := 'spend_limit_exceeded';
        outcomes[v_request.at].limited_by :=
          case when v_request.lineage[v_at] = v_request.api_key_id then 'self' else 'ancestor' end;
        exit;
      end if;
    end loop;
    continue when v_seconds < v_request.min_seconds;
    v_seconds := least(v_seconds, p_available[v_request.account_at] / v_request.price);
    if v_seconds < v_request.min_seconds then
      outcomes[v_request.at].kind := 'insufficient_credits';
      continue;
    end if;

    v_amount := v_seconds * v_request.price;
    outcomes[v_request.at].reserved := v_amount;
    outcomes[v_request.at].expires_at :=
      date_trunc('milliseconds', v_now) + make_interval(secs => v_request.start_seconds);
    p_available[v_request.account_at] := p_available[v_request.account_at] - v_amount;
    accounts_held[v_request.account_at] := accounts_held[v_request.account_at] + v_amount;
    foreach v_meter in array v_request.meters_at loop
      p_left[v_meter] := p_left[v_meter] - v_amount;
      meters_held[v_meter] := meters_held[v_meter] + v_amount;
    end loop;
  end loop;
end $$;
