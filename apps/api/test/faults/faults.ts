/**
 * Breaks the environment of the service while it works: `bun run test:faults`. Uses real processes, a real PostgreSQL
 * with its default durability, and concurrent creates. At the end, compares each response with the rows of the
 * database, and prints a table in the order of these imports.
 */
import "./settings.ts";
import "./process.ts";
import "./preloaded.ts";
import "./killed.ts";
import "./database.ts";
import "./network.ts";
import "./replica.ts";
import "./room.ts";
import "./pooler.ts";
import "./migration.ts";
import "./overload.ts";
