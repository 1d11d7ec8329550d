CREATE TABLE "connection_histories" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"observations" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "connection_histories_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "connection_histories_session_id_check" CHECK (octet_length("connection_histories"."session_id") = 30 and "connection_histories"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "connection_histories_observations_check" CHECK (jsonb_array_length("connection_histories"."observations") <= 240)
);
--> statement-breakpoint
CREATE INDEX "connection_histories_age_index" ON "connection_histories" USING btree ("updated_at");