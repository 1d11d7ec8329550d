/**
 * A process that only sends webhooks, like the worker, but also to http on this machine, and with a short lease. Tests
 * kill it.
 */
import { connect } from "@realtime-avatar/db/connection/pool";
import { createLog } from "@realtime-avatar/runtime/log";
import { secureRandom } from "@realtime-avatar/runtime/random";
import { createUntilDue } from "../../src/jobs/due-work.ts";
import { createPoster } from "../../src/remote/post.ts";
import { SENDER_TIMING, startSender } from "../../src/webhooks/sender.ts";
import { ASSET_ORIGIN, SEALING_KEY } from "../../src/webhooks/world.testing.ts";

const log = createLog("info");
const db = connect(process.env["DATABASE_URL"] ?? "", { connections: 4 });
startSender({
  db,
  log,
  random: secureRandom,
  metrics: null,
  tracing: null,
  poster: createPoster({ allowHttpLocalhost: true, totalMs: 1500 }),
  sealingKey: SEALING_KEY,
  assetOrigin: ASSET_ORIGIN,
  userAgent: "realtime-avatar/test",
  sends: 100,
  untilDue: createUntilDue(db, { least: 20, most: 20 })("deliveries"),
  timing: { ...SENDER_TIMING, failedMs: 100, leaseSeconds: 4, attemptMs: 2000 },
});
log.info({}, "started");
