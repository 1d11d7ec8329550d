-- The outcomes of a single write that is written.
create function rta.all_written() returns rta.write_outcome[]
language sql immutable as $$
  select array[row('written', null, null, null, null, null, null)::rta.write_outcome]
$$;
