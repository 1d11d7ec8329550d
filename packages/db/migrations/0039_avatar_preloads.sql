CREATE TABLE "fleet"."avatar_preloads" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"environment" text NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"avatar_id" text COLLATE "C" NOT NULL,
	"worker_id" text COLLATE "C" NOT NULL,
	"ends_at" timestamp (3) with time zone NOT NULL,
	"has_news" boolean NOT NULL,
	CONSTRAINT "avatar_preloads_tenant_id_environment_pk" PRIMARY KEY("tenant_id","environment"),
	CONSTRAINT "avatar_preloads_environment_check" CHECK ("fleet"."avatar_preloads"."environment" in ('live', 'test')),
	CONSTRAINT "avatar_preloads_avatar_id_check" CHECK (octet_length("fleet"."avatar_preloads"."avatar_id") = 30 and "fleet"."avatar_preloads"."avatar_id" ~ '^ava_[0-7][0-9a-hjkmnp-tv-z]*$')
);
--> statement-breakpoint
CREATE INDEX "avatar_preloads_worker_index" ON "fleet"."avatar_preloads" USING btree ("worker_id","ends_at");