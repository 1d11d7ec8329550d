ALTER TABLE "fleet"."avatar_workers" ADD COLUMN "voices" text[];--> statement-breakpoint
ALTER TABLE "fleet"."avatar_workers" ADD COLUMN "models" text[];