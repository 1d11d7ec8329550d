-- What belongs to no tenant is in a schema of its own: the avatar workers and their slots, and the name of this service in rooms.
-- The rows of workers and slots are updated in place (fillfactor 50).
CREATE SCHEMA "fleet";
--> statement-breakpoint
CREATE TABLE "fleet"."avatar_slots" (
	"worker_id" text COLLATE "C" NOT NULL,
	"n" integer NOT NULL,
	"tenant_id" text COLLATE "C",
	"session_id" text COLLATE "C",
	"has_news" boolean DEFAULT false NOT NULL,
	CONSTRAINT "avatar_slots_worker_id_n_pk" PRIMARY KEY("worker_id","n"),
	CONSTRAINT "avatar_slots_session_check" CHECK (("fleet"."avatar_slots"."tenant_id" is null) = ("fleet"."avatar_slots"."session_id" is null))
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "fleet"."avatar_workers" (
	"id" text COLLATE "C" PRIMARY KEY NOT NULL,
	"features" text[] NOT NULL,
	"slots" integer NOT NULL,
	"lease_until" timestamp (3) with time zone NOT NULL
) WITH (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "call_tickets" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"fingerprint" text COLLATE "C" NOT NULL,
	"turn" bigint NOT NULL,
	"polled_at" timestamp (3) with time zone NOT NULL,
	"test_polls" integer,
	CONSTRAINT "call_tickets_tenant_id_id_pk" PRIMARY KEY("tenant_id","id"),
	CONSTRAINT "call_tickets_id_check" CHECK (octet_length("call_tickets"."id") = 30 and "call_tickets"."id" ~ '^tkt_[0-7][0-9a-hjkmnp-tv-z]*$')
);
--> statement-breakpoint
CREATE TABLE "calls" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"session_id" text COLLATE "C" NOT NULL,
	"room_name" text COLLATE "C" NOT NULL,
	"room" text NOT NULL,
	"mode" text NOT NULL,
	"input" json NOT NULL,
	"max_seconds" integer NOT NULL,
	"generation" integer DEFAULT 1 NOT NULL,
	CONSTRAINT "calls_tenant_id_session_id_pk" PRIMARY KEY("tenant_id","session_id"),
	CONSTRAINT "calls_session_id_check" CHECK (octet_length("calls"."session_id") = 30 and "calls"."session_id" ~ '^ses_[0-7][0-9a-hjkmnp-tv-z]*$'),
	CONSTRAINT "calls_room_check" CHECK ("calls"."room" in ('create', 'exists', 'delete', 'gone')),
	CONSTRAINT "calls_mode_check" CHECK ("calls"."mode" in ('avatar', 'voice'))
);
--> statement-breakpoint
CREATE TABLE "fleet"."service" (
	"instance" text COLLATE "C" PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "avatar_slots_session_index" ON "fleet"."avatar_slots" USING btree ("session_id") WHERE "fleet"."avatar_slots"."session_id" is not null;--> statement-breakpoint
CREATE INDEX "avatar_slots_free_index" ON "fleet"."avatar_slots" USING btree ("n","worker_id") WHERE "fleet"."avatar_slots"."session_id" is null;--> statement-breakpoint
CREATE INDEX "avatar_slots_news_index" ON "fleet"."avatar_slots" USING btree ("worker_id") WHERE "fleet"."avatar_slots"."has_news";--> statement-breakpoint
CREATE INDEX "calls_session_index" ON "calls" USING btree ("session_id","tenant_id");--> statement-breakpoint
CREATE INDEX "calls_rooms_to_delete_index" ON "calls" USING btree ("tenant_id","session_id") WHERE "calls"."room" = 'delete';--> statement-breakpoint
INSERT INTO "fleet"."service" ("instance") VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));
