CREATE TABLE "user_identities" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"user_id" text COLLATE "C" NOT NULL,
	"issuer" text COLLATE "C" NOT NULL,
	"subject" text COLLATE "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "user_identities_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "user_identities_id_check" CHECK (octet_length("user_identities"."id") = 30 and "user_identities"."id" ~ '^idn_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "user_identities_issuer_check" CHECK (octet_length("user_identities"."issuer") between 1 and 512),
	CONSTRAINT "user_identities_subject_check" CHECK (octet_length("user_identities"."subject") between 1 and 255)
);
--> statement-breakpoint
ALTER TABLE "user_sessions" ALTER COLUMN "passkey_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "user_sessions" ADD COLUMN "identity_id" text COLLATE "C";--> statement-breakpoint
ALTER TABLE "user_identities" ADD CONSTRAINT "user_identities_tenant_id_user_id_users_tenant_id_id_fk" FOREIGN KEY ("tenant_id","user_id") REFERENCES "public"."users"("tenant_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "user_identities_subject_index" ON "user_identities" USING btree ("tenant_id","issuer","subject");--> statement-breakpoint
CREATE INDEX "user_identities_user_id_index" ON "user_identities" USING btree ("tenant_id","user_id","id");--> statement-breakpoint
ALTER TABLE "user_sessions" ADD CONSTRAINT "user_sessions_opened_by_check" CHECK (num_nonnulls("user_sessions"."passkey_id", "user_sessions"."identity_id") = 1);