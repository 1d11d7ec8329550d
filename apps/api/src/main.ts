/** Starts the API. */
import { isMigrated } from "@realtime-avatar/db/migrate";
import { openDatabase } from "@realtime-avatar/db/open";
import { onShutdown, runProcess } from "@realtime-avatar/runtime/lifecycle";
import { createLog } from "@realtime-avatar/runtime/log";
import { createApp } from "./app.ts";
import { readConfig } from "./config.ts";
import { createFirstKey, firstKeyMessage } from "./first-run.ts";
import { secureRandom } from "./random.ts";
import { serve } from "./serve.ts";

await runProcess(async () => {
  const config = readConfig(process.env);
  const log = createLog(config.logLevel, process.stdout, process.stdout.isTTY);
  const database = await openDatabase(config.database, { notify: (message) => log.info(message) });
  const { db, isEmbedded } = database;
  const clock = (): Date => new Date();
  const isCurrent = await isMigrated(db);
  const firstKey = isEmbedded ? await createFirstKey(db, clock(), secureRandom) : null;

  const server = serve(createApp({ db, clock, random: secureRandom, config, log }), config);
  onShutdown(async () => {
    // Accepts nothing more, and waits for what is in flight.
    await server.stop();
    await database.close();
    log.info("stopped");
  });
  const url = server.url.href.replace(/\/$/, "");
  log.info({ url, database: isEmbedded ? config.database.dataDirectory : "DATABASE_URL" }, "listening");
  if (!isCurrent) log.warn("the database's migrations are pending: /readyz answers 503 until `bun run migrate`");
  // Standard error, so that a log that is kept from standard output never holds the key.
  if (firstKey) console.error(firstKeyMessage(firstKey, url));
});
