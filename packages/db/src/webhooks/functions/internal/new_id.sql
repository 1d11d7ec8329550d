-- A new id with this prefix, as `newId` of the domain makes them: a UUIDv7 in base32. Ids sort by `p_time`, to the millisecond.
-- Ten characters hold the time. Of the others, the first holds the version, the fourth begins with the variant, and all are random
-- hexadecimal digits, which are digits of base32 too: 58 random bits.
create function rta.new_id(p_prefix text, p_time timestamptz) returns text
language plpgsql volatile as $$
declare
  v_digits constant text := '0123456789abcdefghjkmnpqrstvwxyz';
  v_time bigint := floor(extract(epoch from p_time) * 1000);
  v_uuid text := gen_random_uuid();
begin
  return p_prefix || '_'
    || substr(v_digits, (v_time >> 45)::integer + 1, 1) || substr(v_digits, (v_time >> 40 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 35 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 30 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 25 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 20 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 15 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 10 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 5 & 31)::integer + 1, 1) || substr(v_digits, (v_time & 31)::integer + 1, 1)
    || 'e' || left(v_uuid, 2) || substr(v_uuid, 20, 1) || right(v_uuid, 12);
end $$;
