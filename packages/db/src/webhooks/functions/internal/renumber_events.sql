-- Gives those events that are not written, because another transaction has taken their sequence, the next one. The others keep theirs.
create function rta.renumber_events(p_events rta.numbered_event[]) returns rta.numbered_event[]
language plpgsql as $$
begin
  return array(
    select row(
      tenant_id, id, environment, type, target_id,
      case when is_written then sequence
        else rta.last_sequence(tenant_id, target_id) + row_number() over (partition by tenant_id, target_id, is_written order by at)
      end, created_at
    )::rta.numbered_event
    from unnest(p_events) with ordinality event (tenant_id, id, environment, type, target_id, sequence, created_at, at)
    cross join lateral (
      select exists (
        select from public.webhook_events own
        where own.tenant_id = event.tenant_id and own.target_id = event.target_id and own.sequence = event.sequence
          and own.id = event.id
      ) as is_written
    ) own
    order by at
  );
end $$;
