/** What events cost the writes: `bun bench/webhooks/writes.ts [times]`. */
import { openDatabase } from "../database.ts";
import { measureFunctions } from "./functions.ts";

const database = await openDatabase();
await measureFunctions(database, Number(process.argv[2] ?? 1000));
await database.close();
