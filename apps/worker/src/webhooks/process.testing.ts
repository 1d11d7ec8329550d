/** A sender in a separate process, which a test can kill. Its names resolve to loopback. */
import { connectTo } from "@realtime-avatar/testing/postgres/client";
import { loopback, startTestSender } from "./world.testing.ts";

const { DATABASE_URL = "", RECEIVER_PORT = "", RECEIVER_CA = "" } = process.env;
startTestSender(connectTo({ url: DATABASE_URL }, { connections: 4 }), {
  network: loopback(Number(RECEIVER_PORT), RECEIVER_CA),
});
