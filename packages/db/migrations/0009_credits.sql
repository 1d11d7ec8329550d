CREATE TABLE "api_key_meters" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"settled" bigint DEFAULT 0 NOT NULL,
	"reserved" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "api_key_meters_tenant_id_api_key_id_pk" PRIMARY KEY("tenant_id","api_key_id"),
	CONSTRAINT "api_key_meters_counters_check" CHECK ("api_key_meters"."settled" >= 0 and "api_key_meters"."reserved" >= 0)
);
--> statement-breakpoint
CREATE TABLE "credit_accounts" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"granted" bigint NOT NULL,
	"forfeited" bigint DEFAULT 0 NOT NULL,
	"settled" bigint DEFAULT 0 NOT NULL,
	"reserved" bigint DEFAULT 0 NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_accounts_tenant_id_environment_pk" PRIMARY KEY("tenant_id","environment"),
	CONSTRAINT "credit_accounts_environment_check" CHECK ("credit_accounts"."environment" in ('live', 'test')),
	CONSTRAINT "credit_accounts_available_check" CHECK ("credit_accounts"."granted" - "credit_accounts"."forfeited" - "credit_accounts"."settled" - "credit_accounts"."reserved" >= 0),
	CONSTRAINT "credit_accounts_counters_check" CHECK ("credit_accounts"."granted" between 0 and 9007199254740991 and "credit_accounts"."forfeited" >= 0 and "credit_accounts"."settled" >= 0 and "credit_accounts"."reserved" >= 0)
);
--> statement-breakpoint
CREATE TABLE "credit_entries" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"kind" text NOT NULL,
	"amount" bigint NOT NULL,
	"session_id" text COLLATE "C",
	"api_key_id" text COLLATE "C",
	"reference" text,
	"request_id" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "credit_entries_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "credit_entries_id_check" CHECK (octet_length("credit_entries"."id") = 30 and "credit_entries"."id" ~ '^ent_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "credit_entries_environment_check" CHECK ("credit_entries"."environment" in ('live', 'test')),
	CONSTRAINT "credit_entries_kind_check" CHECK ("credit_entries"."kind" in ('grant', 'hold', 'settle', 'release', 'expire', 'void', 'adjust')),
	CONSTRAINT "credit_entries_amount_check" CHECK ("credit_entries"."amount" between 0 and 9007199254740991)
);
--> statement-breakpoint
CREATE TABLE "usage_sessions" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"lineage" text[] NOT NULL,
	"avatar_id" text COLLATE "C",
	"status" text NOT NULL,
	"reserved" bigint NOT NULL,
	"used" bigint DEFAULT 0 NOT NULL,
	"price" bigint NOT NULL,
	"metadata" json NOT NULL,
	"reason" text,
	"version" integer DEFAULT 1 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "usage_sessions_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "usage_sessions_id_check" CHECK (octet_length("usage_sessions"."id") = 30 and "usage_sessions"."id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "usage_sessions_environment_check" CHECK ("usage_sessions"."environment" in ('live', 'test')),
	CONSTRAINT "usage_sessions_status_check" CHECK ("usage_sessions"."status" in ('reserved', 'started', 'released', 'failed')),
	CONSTRAINT "usage_sessions_used_check" CHECK ("usage_sessions"."used" between 0 and "usage_sessions"."reserved"),
	CONSTRAINT "usage_sessions_price_check" CHECK ("usage_sessions"."price" > 0),
	CONSTRAINT "usage_sessions_ended_check" CHECK (("usage_sessions"."status" in ('released', 'failed')) = ("usage_sessions"."ended_at" is not null))
);
--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "figures" json;--> statement-breakpoint
ALTER TABLE "credit_accounts" ADD CONSTRAINT "credit_accounts_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "credit_entries" ADD CONSTRAINT "credit_entries_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_sessions" ADD CONSTRAINT "usage_sessions_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "credit_entries_reference_index" ON "credit_entries" USING btree ("tenant_id","environment","reference") WHERE "credit_entries"."reference" is not null;--> statement-breakpoint
CREATE INDEX "credit_entries_list_index" ON "credit_entries" USING btree ("environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "credit_entries_kind_index" ON "credit_entries" USING btree ("kind","environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "credit_entries_api_key_index" ON "credit_entries" USING btree ("api_key_id","environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "credit_entries_session_index" ON "credit_entries" USING btree ("session_id","environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "usage_sessions_overdue_index" ON "usage_sessions" USING btree ("expires_at") WHERE "usage_sessions"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_sessions_tenant_overdue_index" ON "usage_sessions" USING btree ("tenant_id","expires_at") WHERE "usage_sessions"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "usage_sessions_list_index" ON "usage_sessions" USING btree ("environment","tenant_id","id");--> statement-breakpoint
CREATE INDEX "usage_sessions_end_user_index" ON "usage_sessions" USING btree ((metadata ->> 'user_id'),"environment","tenant_id","id") WHERE "usage_sessions"."metadata" ->> 'user_id' is not null;--> statement-breakpoint
CREATE INDEX "usage_sessions_created_at_index" ON "usage_sessions" USING btree ("tenant_id","environment","created_at");--> statement-breakpoint
-- Counters are updated in place: half of each page is left free, so that an update stays on its page (HOT).
ALTER TABLE "credit_accounts" SET (fillfactor = 50);--> statement-breakpoint
ALTER TABLE "api_key_meters" SET (fillfactor = 50);--> statement-breakpoint
CREATE FUNCTION refuse_entry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'credit_entries is append-only' USING ERRCODE = 'restrict_violation';
END
$$;
--> statement-breakpoint
CREATE TRIGGER credit_entries_append_only
  BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_entry_change();--> statement-breakpoint
INSERT INTO "api_key_meters" ("tenant_id", "api_key_id") SELECT "tenant_id", "id" FROM "api_keys";--> statement-breakpoint
INSERT INTO "credit_accounts" ("tenant_id", "environment", "granted", "updated_at")
	SELECT "tenant_id", 'live', 0, now() FROM "tenants"
	UNION ALL SELECT "tenant_id", 'test', 3600000000, now() FROM "tenants";--> statement-breakpoint
-- An id of an entry is unique within its tenant: the suffix of the tenant's own id serves.
INSERT INTO "credit_entries" ("tenant_id", "id", "environment", "kind", "amount", "reference", "request_id", "created_at")
	SELECT "tenant_id", 'ent_' || substr("tenant_id", 5), 'test', 'grant', 3600000000, 'initial', 'migration', now() FROM "tenants";
