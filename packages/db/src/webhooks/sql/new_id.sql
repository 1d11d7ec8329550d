-- A new id without its prefix. Its first 13 characters hold the time: ten digits of base32 with the milliseconds, then
-- three digits with the version of a UUIDv7 and the fraction of a millisecond (RFC 9562, section 6.2, method 3). Then
-- come the variant of a UUID and 50 random bits; hexadecimal digits are also digits of base32. One expression, because
-- a loop over the digits would take an eighth of the time of an event.
create function rta.new_id(p_time timestamptz) returns text
language plpgsql volatile as $$
declare
  v_digits constant text := '0123456789abcdefghjkmnpqrstvwxyz';
  v_micros bigint := extract(epoch from p_time) * 1000000;
  v_time bigint := v_micros / 1000;
  -- The version, 7, and 11 bits for the fraction of a millisecond.
  v_last integer := 14 * 1024 + v_micros % 1000 * 2048 / 1000;
begin
  return substr(v_digits, (v_time >> 45 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 40 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 35 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 30 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 25 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 20 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 15 & 31)::integer + 1, 1) || substr(v_digits, (v_time >> 10 & 31)::integer + 1, 1)
    || substr(v_digits, (v_time >> 5 & 31)::integer + 1, 1) || substr(v_digits, (v_time & 31)::integer + 1, 1)
    || substr(v_digits, (v_last >> 10) + 1, 1) || substr(v_digits, (v_last >> 5 & 31) + 1, 1)
    || substr(v_digits, (v_last & 31) + 1, 1)
    || left(replace(right(gen_random_uuid()::text, 17), '-', ''), 13);
end $$;
