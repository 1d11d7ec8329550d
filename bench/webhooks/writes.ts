/**
 * What events cost the writes: `bun bench/webhooks/writes.ts`, with the options of the benchmark (`--parts functions` measures the
 * functions alone, `--parts requests` the rest). Requires wrk.
 */
import { openDatabase } from "../database.ts";
import { parseOptions } from "../options.ts";
import { measureFunctions } from "./functions.ts";
import { measureRequests } from "./requests.ts";

const options = parseOptions(["--seconds", "3", ...process.argv.slice(2)]);
const database = await openDatabase();
if (options.parts.includes("functions")) await measureFunctions(database, 100 * options.seconds);
if (options.parts.includes("requests")) await measureRequests(database, options);
await database.close();
