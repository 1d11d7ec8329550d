-- Columns first, one statement for each table: each takes its lock once, and rewrites nothing. The constraints hold for every
-- new value; the values that exist are the defaults, so nothing has to be read.
ALTER TABLE "api_keys" ADD COLUMN "max_concurrent_sessions" bigint,
	ADD CONSTRAINT "api_keys_max_concurrent_sessions_check" CHECK ("api_keys"."max_concurrent_sessions" between 1 and 9007199254740991) NOT VALID;--> statement-breakpoint
ALTER TABLE "usage_sessions" ADD COLUMN "must_end" boolean DEFAULT false NOT NULL,
	ADD COLUMN "reported" bigint,
	ADD COLUMN "reported_by" text COLLATE "C",
	ADD COLUMN "closed_by" text COLLATE "C",
	ADD COLUMN "is_counted" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "api_key_meters" ADD COLUMN "open_sessions" bigint DEFAULT 0 NOT NULL,
	ADD CONSTRAINT "api_key_meters_open_sessions_check" CHECK ("api_key_meters"."open_sessions" >= 0) NOT VALID;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "open_sessions" bigint DEFAULT 0 NOT NULL,
	ADD COLUMN "max_concurrent_sessions" bigint DEFAULT 1000 NOT NULL,
	ADD CONSTRAINT "credit_accounts_open_sessions_check" CHECK ("credit_accounts"."open_sessions" >= 0) NOT VALID,
	ADD CONSTRAINT "credit_accounts_max_concurrent_sessions_check" CHECK ("credit_accounts"."max_concurrent_sessions" between 1 and 9007199254740991) NOT VALID;--> statement-breakpoint
ALTER TABLE "credit_entries" ADD COLUMN "reported_by" text COLLATE "C",
	ADD COLUMN "closed_by" text COLLATE "C";--> statement-breakpoint
-- Counts a session that a function of an earlier version opens, reports or ends: that version does not know the counters, and
-- runs beside this one during an upgrade. A function of this version changes the counters itself, and sets `is_counted` with
-- them, so the trigger is called only for a session from before this migration. Such a session is counted at its next report; if it ends
-- before, it was never counted. So a counter is exact for the sessions with `is_counted` at each moment, needs no backfill, and
-- counts every open session one lease after the migration.
--
-- Lock order: the session, its meters by primary key, the account. A function that opens or ends sessions has locked these
-- already. It runs with the rights of the owner: the role of the service may be without rights on the new columns until
-- `migrate --grant`.
CREATE FUNCTION count_usage_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  v_step integer := CASE WHEN NEW.ended_at IS NULL THEN 1 ELSE -1 END;
BEGIN
  PERFORM FROM public.api_key_meters
  WHERE tenant_id = NEW.tenant_id AND api_key_id = ANY (NEW.lineage)
  ORDER BY api_key_id FOR NO KEY UPDATE;
  UPDATE public.api_key_meters SET open_sessions = open_sessions + v_step
  WHERE tenant_id = NEW.tenant_id AND api_key_id = ANY (NEW.lineage);
  UPDATE public.credit_accounts SET open_sessions = open_sessions + v_step
  WHERE tenant_id = NEW.tenant_id AND environment = NEW.environment;
  NEW.is_counted := NEW.ended_at IS NULL;
  RETURN NEW;
END
$$;--> statement-breakpoint
-- So that no other role can attach it to its own table. The trigger needs no such right.
REVOKE EXECUTE ON FUNCTION count_usage_session() FROM PUBLIC;--> statement-breakpoint
CREATE TRIGGER usage_sessions_count BEFORE INSERT OR UPDATE ON usage_sessions
  FOR EACH ROW WHEN (NEW.is_counted <> (NEW.ended_at IS NULL)) EXECUTE FUNCTION count_usage_session();--> statement-breakpoint
-- The role of the service opens and ends sessions. Grants, voids and refunds are the operator's, who owns the tables: row
-- security does not apply to the owner.
ALTER TABLE "credit_entries" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
CREATE POLICY "credit_entries_read" ON "credit_entries" FOR SELECT USING (true);--> statement-breakpoint
CREATE POLICY "credit_entries_of_sessions" ON "credit_entries" FOR INSERT
  WITH CHECK ("kind" IN ('hold', 'settle', 'release', 'expire') AND "reference" IS NULL);--> statement-breakpoint
-- The path keeps a temporary table of the role, named pg_class, out of the check.
CREATE FUNCTION refuse_refund() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
    RAISE EXCEPTION 'only the operator lowers what was spent' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;--> statement-breakpoint
CREATE TRIGGER credit_accounts_refund BEFORE UPDATE ON credit_accounts
  FOR EACH ROW WHEN (NEW.settled < OLD.settled) EXECUTE FUNCTION refuse_refund();--> statement-breakpoint
CREATE TRIGGER api_key_meters_refund BEFORE UPDATE ON api_key_meters
  FOR EACH ROW WHEN (NEW.settled < OLD.settled) EXECUTE FUNCTION refuse_refund();
