CREATE TABLE "idempotency_keys" (
	"tenant_id" text COLLATE "C" NOT NULL,
	"api_key_id" text COLLATE "C" NOT NULL,
	"request" text COLLATE "C" NOT NULL,
	"idempotency_key" text COLLATE "C" NOT NULL,
	"audit_event_id" text COLLATE "C" NOT NULL,
	"body_hash" "bytea" NOT NULL,
	"status" integer NOT NULL,
	"location" text,
	"etag" text NOT NULL,
	"answer" "bytea" NOT NULL,
	"sealed_for" text COLLATE "C",
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_tenant_id_api_key_id_request_idempotency_key_pk" PRIMARY KEY("tenant_id","api_key_id","request","idempotency_key"),
	CONSTRAINT "idempotency_keys_body_hash_check" CHECK (octet_length("idempotency_keys"."body_hash") = 32),
	CONSTRAINT "idempotency_keys_status_check" CHECK ("idempotency_keys"."status" between 200 and 299),
	CONSTRAINT "idempotency_keys_idempotency_key_check" CHECK (char_length("idempotency_keys"."idempotency_key") between 1 and 255)
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_created_at_index" ON "idempotency_keys" USING btree ("created_at");