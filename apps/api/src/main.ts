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
  const { db } = database;
  const clock = (): Date => new Date();
  const app = createApp({ db, clock, random: secureRandom, config, log });
  const server = serve(app, config);
  onShutdown(async () => {
    // Accepts nothing more, and waits for what is in flight.
    await server.stop();
    await database.close();
    log.info("stopped");
  });
  const url = server.url.href.replace(/\/$/, "");
  log.info({ url, database: database.isEmbedded ? config.database.dataDirectory : "DATABASE_URL" }, "listening");

  if (database.isEmbedded) {
    const secret = await createFirstKey(db, clock(), secureRandom);
    // Standard error, so that a log that is kept from standard output never holds the key.
    if (secret) console.error(firstKeyMessage(secret, url));
  } else if (!(await isMigrated(db))) {
    log.warn("the database's migrations are pending: run `bun run migrate`; until then /readyz answers 503");
  }
});
