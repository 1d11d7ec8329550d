/**
 * A page in a call that ends without a message: a real browser with a simulated microphone.
 * calls-document.system.test.ts tests what a page shows.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dirname, join } from "node:path";
import { BROWSER, type Browser, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { bun, type RunningProcess, startProcess } from "@realtime-avatar/testing/processes";
import { type ControlPlane, startControlPlane } from "./support/control-plane.ts";

setDefaultTimeout(60_000);

const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");

const PAGE = `<!doctype html><meta charset="utf-8"><title>Call</title><script src="/livekit-client.js"></script>
<script>
  async function join(url, token) {
    const room = new LivekitClient.Room();
    await room.connect(url, token);
    await room.localParticipant.setMicrophoneEnabled(true);
  }
</script>`;

const LONG = process.env["LONG"] === "1";

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";

describe.skipIf(missing !== null || !LONG)(`a page in a call${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let worker: RunningProcess;
  let browser: Browser;
  let pages: Bun.Server<unknown>;

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
    worker = startProcess(bun("apps/avatar-worker/src/main.ts"), control.variables);
    browser = await sharedBrowser();
    pages = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) =>
        url.endsWith(".js")
          ? new Response(Bun.file(CLIENT))
          : new Response(PAGE, { headers: { "content-type": "text/html" } }),
    });
  });
  afterAll(async () => {
    worker?.kill("SIGTERM");
    await worker?.exited;
    await pages?.stop(true);
    await control?.stop();
    await livekit?.stop();
  });

  const endsWhen = async (stop: (page: Page) => Promise<unknown>): Promise<void> => {
    const call = await control.start();
    const page = await browser.newPage();
    await page.goto(pages.url.href);
    await page.evaluate(`join(${JSON.stringify(livekit.url)}, ${JSON.stringify(call.personToken)})`);
    await control.untilReported(call.session, "started");
    await stop(page);
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "disconnected" });
    await page.close();
  };

  test("a page that shows another address: the call ends by itself", () =>
    endsWhen((page) => page.goto("about:blank")));

  // A killed page sends no events, like a computer that is switched off. LiveKit waits for it for 20 seconds.
  test("a page that is killed: the call ends by itself", () => endsWhen((page) => page.close()));
});
