/** A page with `livekit-client` in a call: a real browser with a false microphone. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { dirname, join } from "node:path";
import { BROWSER, type Browser, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { type LivekitServer, startLivekit } from "@realtime-avatar/testing/livekit/server";
import { type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { type ControlPlane, startControlPlane, type TestCall } from "./support/control-plane.ts";

setDefaultTimeout(60_000);

const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");

/** What a page with a call needs: 20 lines. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>Call</title><video autoplay playsinline></video><audio autoplay></audio>
<script src="/livekit-client.js"></script>
<script>
  const state = { ended: null, messages: [], firstFrameMs: null };
  async function join(url, token) {
    const started = performance.now();
    const room = new LivekitClient.Room();
    room.on("trackSubscribed", (track) => track.attach(document.querySelector(track.kind)));
    room.on("dataReceived", (data, from, kind, topic) => state.messages.push([topic, new TextDecoder().decode(data)]));
    room.on("disconnected", (reason) => { state.ended = LivekitClient.DisconnectReason[reason]; });
    const video = document.querySelector("video");
    video.requestVideoFrameCallback(() => { state.firstFrameMs = performance.now() - started; });
    await room.connect(url, token);
    await room.localParticipant.setMicrophoneEnabled(true);
  }
  function look() {
    const video = document.querySelector("video");
    const canvas = new OffscreenCanvas(64, 64);
    const context = canvas.getContext("2d");
    context.drawImage(video, 0, 0, 64, 64);
    const { data } = context.getImageData(0, 0, 64, 64);
    return { width: video.videoWidth, sum: data.reduce((sum, value, index) => (index % 4 === 3 ? sum : sum + value), 0) };
  }
  let analyser = null;
  function level() {
    const stream = document.querySelector("audio").srcObject;
    if (!stream) return 0;
    if (!analyser) {
      const context = new AudioContext();
      analyser = context.createAnalyser();
      context.createMediaStreamSource(stream).connect(analyser);
    }
    const samples = new Float32Array(analyser.fftSize);
    analyser.getFloatTimeDomainData(samples);
    return Math.max(...samples.map(Math.abs));
  }
</script>`;

const LONG = process.env["LONG"] === "1";

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";

describe.skipIf(missing !== null)(`a page in a call${missing ? ` (skipped: ${missing})` : ""}`, () => {
  let livekit: LivekitServer;
  let control: ControlPlane;
  let worker: RunningProcess;
  let browser: Browser;
  let pages: Bun.Server<unknown>;

  beforeAll(async () => {
    livekit = await startLivekit(binary.kind === "found" ? binary.path : "");
    control = await startControlPlane(livekit);
    worker = startProcess(source("apps/avatar-worker/src/main.ts"), control.variables);
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

  const joinCall = async ({ personToken }: TestCall): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(pages.url.href);
    await page.evaluate(`join(${JSON.stringify(livekit.url)}, ${JSON.stringify(personToken)})`);
    return page;
  };

  test("shows a portrait that moves, and plays what the microphone hears; the end is shown", async () => {
    const call = await control.start({ environment: "test" });
    const page = await joinCall(call);
    await page.waitForFunction("look().sum > 0 && look().width === 512");
    const sums = new Set<number>();
    while (sums.size < 4) sums.add(await page.evaluate("look().sum"));
    await page.waitForFunction("level() > 0.02");
    const picture = process.env["CALL_PICTURE"];
    if (picture) await page.screenshot({ path: picture });
    control.end(call.session, "user_ended");
    await control.untilReported(call.session, "ended");
    await control.rooms.deleteRoom(call.room);
    await page.waitForFunction("state.ended !== null");
    const { ended, messages } = (await page.evaluate("state")) as { ended: string; messages: [string, string][] };
    expect(ended).toBe("ROOM_DELETED");
    expect(messages.every(([topic]) => topic === "rta.lifecycle")).toBe(true);
    expect(JSON.parse(messages.at(-1)?.[1] ?? "")).toEqual({ kind: "ended", reason: "user_ended" });
    await page.close();
  });

  const endsWhen = async (stop: (page: Page) => Promise<unknown>): Promise<void> => {
    const call = await control.start();
    const page = await joinCall(call);
    await control.untilReported(call.session, "started");
    await stop(page);
    expect(await control.untilReported(call.session, "ended")).toMatchObject({ reason: "disconnected" });
    await page.close();
  };

  test("a page that shows another address: the call ends by itself", () =>
    endsWhen((page) => page.goto("about:blank")));

  // Without the events of a page that ends, as when a computer is switched off. LiveKit waits for it for 20 seconds.
  test.skipIf(!LONG)("a page that is killed: the call ends by itself", () => endsWhen((page) => page.close()));
});
