-- A report changes `expires_at`. While that was indexed, each report wrote to every index of the row. `sweep_at` is indexed in its
-- place (0028): it is never later than `expires_at`, and is moved only when less than fifteen seconds are left to it. So an
-- overdue session is found at once, and one that is reported every ten seconds writes to its indexes once in five reports.
-- The sessions that exist have the default: each is looked at by every sweep until its next report.
ALTER TABLE "usage_sessions" ADD COLUMN "sweep_at" timestamp (3) with time zone DEFAULT '-infinity' NOT NULL;--> statement-breakpoint
-- Room in each page for the versions that reports write.
ALTER TABLE "usage_sessions" SET (fillfactor = 70);--> statement-breakpoint
-- The trigger keeps this true for who knows `expires_at` alone, as the functions of an earlier version.
CREATE FUNCTION move_sweep() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.sweep_at := NEW.expires_at;
  RETURN NEW;
END
$$;--> statement-breakpoint
-- So that no other role can attach it to its own table. The trigger needs no such right.
REVOKE EXECUTE ON FUNCTION move_sweep() FROM PUBLIC;--> statement-breakpoint
CREATE TRIGGER usage_sessions_sweep BEFORE INSERT OR UPDATE ON usage_sessions
  FOR EACH ROW WHEN (
    NEW.ended_at IS NULL
    AND (NEW.sweep_at > NEW.expires_at OR NEW.sweep_at < NEW.expires_at AND NEW.sweep_at < now() + interval '15 seconds')
  ) EXECUTE FUNCTION move_sweep();
