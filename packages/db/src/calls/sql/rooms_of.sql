-- The rooms of these closed sessions. Sessions that are not calls in rooms of ours have none.
create function rta.rooms_of(p_closings rta.closing[]) returns text[]
language sql stable as $$
  select coalesce(array_agg(call.room_name), '{}')
  from unnest(p_closings) closing
  join public.calls call on call.tenant_id = closing.tenant_id and call.session_id = closing.session_id
    and call.room = 'delete'
$$;
