-- A new id with this prefix, as `newId` of the domain makes them: a UUIDv7 in base32. Ids sort by `p_time`.
create function rta.new_id(p_prefix text, p_time timestamptz) returns text
language sql volatile as $$
  select p_prefix || '_' || rta.id_time(p_time) || rta.id_random()
$$;
