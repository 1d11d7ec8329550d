-- A time as the API shows it.
create function rta.time_text(p_time timestamptz) returns text
language plpgsql stable as $$
begin
  return to_char(date_trunc('milliseconds', p_time) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
end $$;
