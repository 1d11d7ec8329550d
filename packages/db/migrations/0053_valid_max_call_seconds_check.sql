ALTER TABLE "credit_accounts" VALIDATE CONSTRAINT "credit_accounts_max_call_seconds_check";
