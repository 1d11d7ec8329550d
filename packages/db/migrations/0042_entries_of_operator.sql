-- Triggers that hold on a node of Citus as well. There, INSERT … SELECT is a COPY, to which no policy applies, or which it refuses: a
-- trigger takes the place of the row security of 0018. And `pg_class` does not list the parts of a distributed table, so no owner was
-- found there, and nothing was refused. The owner of a table alone always has the grant option.
CREATE OR REPLACE FUNCTION refuse_refund() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF has_table_privilege(current_user, TG_RELID, 'INSERT WITH GRANT OPTION') IS NOT TRUE THEN
    RAISE EXCEPTION 'only the operator lowers what was spent' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;--> statement-breakpoint
CREATE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF has_table_privilege(current_user, TG_RELID, 'INSERT WITH GRANT OPTION') IS NOT TRUE THEN
    RAISE EXCEPTION 'only the operator writes this entry' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;--> statement-breakpoint
-- So that no other role can attach it to its own table. The trigger needs no such right.
REVOKE EXECUTE ON FUNCTION refuse_entry() FROM PUBLIC;--> statement-breakpoint
CREATE TRIGGER credit_entries_of_operator BEFORE INSERT ON credit_entries
  FOR EACH ROW WHEN (NEW.kind NOT IN ('hold', 'settle', 'release', 'expire') OR NEW.reference IS NOT NULL)
  EXECUTE FUNCTION refuse_entry();--> statement-breakpoint
ALTER TABLE "credit_entries" DISABLE ROW LEVEL SECURITY;--> statement-breakpoint
DROP POLICY "credit_entries_of_sessions" ON "credit_entries";--> statement-breakpoint
DROP POLICY "credit_entries_read" ON "credit_entries";
