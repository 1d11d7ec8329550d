-- The characters of an id that hold its time: the milliseconds in ten digits of base32, the version of a UUIDv7, and in what is left of
-- these three digits the part of a millisecond (RFC 9562, section 6.2, method 3).
create function rta.id_time(p_time timestamptz) returns text
language plpgsql immutable as $$
declare
  v_digits constant text := '0123456789abcdefghjkmnpqrstvwxyz';
  v_micros bigint := extract(epoch from p_time) * 1000000;
  -- The version, 7, and 11 bits for the part of a millisecond.
  v_last integer := 14 * 1024 + v_micros % 1000 * 2048 / 1000;
  v_time bigint := v_micros / 1000;
  v_text text := substr(v_digits, (v_last >> 10) + 1, 1) || substr(v_digits, (v_last >> 5 & 31) + 1, 1)
    || substr(v_digits, (v_last & 31) + 1, 1);
begin
  for v_at in 1 .. 10 loop
    v_text := substr(v_digits, (v_time & 31)::integer + 1, 1) || v_text;
    v_time := v_time >> 5;
  end loop;
  return v_text;
end $$;
