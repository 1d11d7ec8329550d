-- Addresses are compared by NFKC: fullwidth letters and other look-alikes are the same address. An invitation lasts 30 minutes
-- and is created again. An address whose normal form another user has, or is no address, stays as it is: the operator decides.
DELETE FROM "invitations" WHERE "email" IS NOT NFKC NORMALIZED;--> statement-breakpoint
WITH "normal" AS (
  SELECT "tenant_id", "id", lower(normalize("email", NFKC)) AS "email",
    row_number() OVER (PARTITION BY "tenant_id", lower(normalize("email", NFKC)) ORDER BY "id") AS "position"
  FROM "users" WHERE "email" IS NOT NFKC NORMALIZED
)
UPDATE "users" SET "email" = "normal"."email", "version" = "users"."version" + 1 FROM "normal"
WHERE "users"."tenant_id" = "normal"."tenant_id" AND "users"."id" = "normal"."id" AND "normal"."position" = 1
  AND char_length("normal"."email") <= 254 AND "normal"."email" ~ '^[^@ ]+@[^@ ]+$'
  AND NOT EXISTS (
    SELECT FROM "users" "other"
    WHERE "other"."tenant_id" = "normal"."tenant_id" AND "other"."email" = "normal"."email"
  );
