/**
 * Benchmark of webhooks: `bun bench/webhooks/bench.ts`, with `--rounds`, `--seconds` and `--connections`. All figures in one run of
 * about four minutes. Requires wrk. Linux only.
 */
import { openDatabase } from "../database.ts";
import { parseOptions } from "../options.ts";
import { print } from "../progress.ts";
import { measureSending } from "./sender.ts";
import { startReceiver } from "./world.ts";
import { measureWrites } from "./writes.ts";

const options = parseOptions(["--seconds", "2", "--rounds", "3", ...process.argv.slice(2)]);
const database = await openDatabase();
const receiver = await startReceiver();
print(await measureWrites(database, receiver, options));
print(`\n${await measureSending(database, receiver)}`);
await receiver.end();
await database.close();
process.exit();
