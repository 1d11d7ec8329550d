import { defineConfig } from "drizzle-kit";

export default defineConfig({
  dialect: "postgresql",
  schema: ["./src/schema.ts", "./src/credits-schema.ts", "./src/assets-schema.ts", "./src/people-schema.ts"],
  out: "./migrations",
});
