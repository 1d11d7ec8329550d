CREATE TABLE "invitations" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"digest" "bytea" NOT NULL,
	"email" text COLLATE "C" NOT NULL,
	"role" text NOT NULL,
	"user_id" text COLLATE "C",
	"created_by" text COLLATE "C",
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "invitations_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "invitations_id_check" CHECK (octet_length("invitations"."id") = 30 and "invitations"."id" ~ '^inv_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "invitations_digest_check" CHECK (octet_length("invitations"."digest") = 32),
	CONSTRAINT "invitations_email_check" CHECK (char_length("invitations"."email") between 3 and 254),
	CONSTRAINT "invitations_role_check" CHECK ("invitations"."role" in ('viewer', 'developer', 'owner'))
);
--> statement-breakpoint
CREATE TABLE "passkeys" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"user_id" text COLLATE "C" NOT NULL,
	"credential_id" "bytea" NOT NULL,
	"public_key" "bytea" NOT NULL,
	"counter" bigint NOT NULL,
	"transports" text[] NOT NULL,
	"is_backed_up" boolean NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "passkeys_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "passkeys_id_check" CHECK (octet_length("passkeys"."id") = 30 and "passkeys"."id" ~ '^psk_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "passkeys_credential_id_check" CHECK (octet_length("passkeys"."credential_id") between 1 and 1023),
	CONSTRAINT "passkeys_public_key_check" CHECK (octet_length("passkeys"."public_key") <= 2048),
	CONSTRAINT "passkeys_counter_check" CHECK ("passkeys"."counter" >= 0),
	CONSTRAINT "passkeys_name_check" CHECK (char_length("passkeys"."name") between 1 and 120)
);
--> statement-breakpoint
CREATE TABLE "people_seen" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"last_seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "people_seen_tenant_id_id_pk" PRIMARY KEY("tenant_id","id")
);
--> statement-breakpoint
CREATE TABLE "spent_challenges" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"nonce" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "spent_challenges_tenant_id_nonce_pk" PRIMARY KEY("tenant_id","nonce"),
	CONSTRAINT "spent_challenges_nonce_check" CHECK (octet_length("spent_challenges"."nonce") = 16)
);
--> statement-breakpoint
CREATE TABLE "user_sessions" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"user_id" text COLLATE "C" NOT NULL,
	"passkey_id" text COLLATE "C" NOT NULL,
	"digest" "bytea" NOT NULL,
	"user_agent" text,
	"version" integer NOT NULL,
	"verified_until" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "user_sessions_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "user_sessions_id_check" CHECK (octet_length("user_sessions"."id") = 30 and "user_sessions"."id" ~ '^uss_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "user_sessions_digest_check" CHECK (octet_length("user_sessions"."digest") = 32),
	CONSTRAINT "user_sessions_user_agent_check" CHECK (char_length("user_sessions"."user_agent") between 0 and 512)
);
--> statement-breakpoint
CREATE TABLE "users" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"email" text COLLATE "C" NOT NULL,
	"name" text NOT NULL,
	"role" text NOT NULL,
	"version" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "users_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "users_id_check" CHECK (octet_length("users"."id") = 30 and "users"."id" ~ '^usr_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "users_email_check" CHECK (char_length("users"."email") between 3 and 254),
	CONSTRAINT "users_name_check" CHECK (char_length("users"."name") between 1 and 120),
	CONSTRAINT "users_role_check" CHECK ("users"."role" in ('viewer', 'developer', 'owner')),
	CONSTRAINT "users_version_check" CHECK ("users"."version" >= 1)
);
--> statement-breakpoint
ALTER TABLE "audit_events" DROP CONSTRAINT "audit_events_actor_check";--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_tenant_id_user_id_users_tenant_id_id_fk" FOREIGN KEY ("tenant_id","user_id") REFERENCES "public"."users"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "spent_challenges" ADD CONSTRAINT "spent_challenges_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_sessions" ADD CONSTRAINT "user_sessions_tenant_id_user_id_users_tenant_id_id_fk" FOREIGN KEY ("tenant_id","user_id") REFERENCES "public"."users"("tenant_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "users" ADD CONSTRAINT "users_tenant_id_tenants_tenant_id_fk" FOREIGN KEY ("tenant_id") REFERENCES "public"."tenants"("tenant_id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "invitations_email_index" ON "invitations" USING btree ("tenant_id","email");--> statement-breakpoint
CREATE INDEX "invitations_expires_at_index" ON "invitations" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "passkeys_credential_id_index" ON "passkeys" USING btree ("tenant_id","credential_id");--> statement-breakpoint
CREATE INDEX "passkeys_user_id_index" ON "passkeys" USING btree ("tenant_id","user_id","id");--> statement-breakpoint
CREATE INDEX "people_seen_last_seen_at_index" ON "people_seen" USING btree ("last_seen_at");--> statement-breakpoint
CREATE INDEX "spent_challenges_expires_at_index" ON "spent_challenges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "user_sessions_user_id_index" ON "user_sessions" USING btree ("tenant_id","user_id","id");--> statement-breakpoint
CREATE INDEX "user_sessions_expires_at_index" ON "user_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_index" ON "users" USING btree ("tenant_id","email");--> statement-breakpoint
ALTER TABLE "audit_events" ADD CONSTRAINT "audit_events_actor_type_check" CHECK (("audit_events"."actor_key_id" is not null) = ("audit_events"."actor_id" is not null and "audit_events"."actor_id" not like 'usr\_%')) NOT VALID;