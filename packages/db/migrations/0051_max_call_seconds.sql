-- A hold grows. Only the operator could lower one.
CREATE TRIGGER usage_sessions_hold BEFORE UPDATE ON usage_sessions
  FOR EACH ROW WHEN (NEW.reserved < OLD.reserved) EXECUTE FUNCTION refuse_refund();--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD COLUMN "max_call_seconds" integer;
