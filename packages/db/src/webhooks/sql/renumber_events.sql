-- Gives those events that are not written, because their sequence is taken, the next one. The others keep theirs.
create function rta.renumber_events(p_events rta.numbered_event[]) returns rta.numbered_event[]
language plpgsql as $$
begin
  return array(
    select row(
      tenant_id, id, environment, type, target_id,
      case
        when exists (
          select from public.webhook_events own
          where own.tenant_id = event.tenant_id and own.target_id = event.target_id and own.sequence = event.sequence
            and own.id = event.id
        ) then sequence
        else 1 + (
          select max(last.sequence) from public.webhook_events last
          where last.tenant_id = event.tenant_id and last.target_id = event.target_id
        )
      end, created_at, endpoint_ids
    )::rta.numbered_event
    from unnest(p_events) with ordinality event (tenant_id, id, environment, type, target_id, sequence, created_at, endpoint_ids, at)
    order by at
  );
end $$;
