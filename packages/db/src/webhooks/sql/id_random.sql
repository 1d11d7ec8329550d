-- The characters of an id after its time: the variant of a UUID, and 50 random bits. Hexadecimal digits are digits of base32 too.
create function rta.id_random() returns text
language sql volatile as $$
  select left(replace(right(gen_random_uuid()::text, 17), '-', ''), 13)
$$;
