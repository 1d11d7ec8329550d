/** The programs and the page of docs/calls.md, as they stand there: on the service with LiveKit, with a browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BROWSER, type BrowserContext, type Page, sharedBrowser } from "@realtime-avatar/testing/browser";
import { preparedDataDirectory } from "@realtime-avatar/testing/database";
import { livekitBinary } from "@realtime-avatar/testing/livekit/binary";
import { REPOSITORY, type RunningProcess, source, startProcess } from "@realtime-avatar/testing/processes";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import { PHOTO } from "../support/examples.ts";
import { API, call, start, stop } from "../support/process.ts";

setDefaultTimeout(90_000);

const binary = await livekitBinary();
const missing = binary.kind === "missing" ? binary.reason : BROWSER ? null : "there is no browser";
const skipped = missing === null ? "" : ` (skipped: ${missing})`;
const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");

const document = await readFile(join(REPOSITORY, "docs/calls.md"), "utf8");
/** A block of the document, by the comment before it. */
const blockOf = (name: string): string =>
  new RegExp(`<!-- ${name} -->\n\`\`\`\\w+\n(.*?)\`\`\``, "s").exec(document)?.[1] ?? "";

/** Runs in the page: the sum of the picture's pixels, and the loudest sample of its sound. */
const LOOK = `(() => {
  const video = document.querySelector("video");
  const canvas = new OffscreenCanvas(64, 64).getContext("2d");
  canvas.drawImage(video, 0, 0, 64, 64);
  return canvas.getImageData(0, 0, 64, 64).data.reduce((sum, value, at) => (at % 4 === 3 ? sum : sum + value), 0);
})()`;
const LEVEL = `(() => {
  const stream = document.querySelector("audio").srcObject;
  if (!stream) return 0;
  if (!window.analyser) {
    const context = new AudioContext();
    window.analyser = context.createAnalyser();
    context.createMediaStreamSource(stream).connect(window.analyser);
  }
  const samples = new Float32Array(window.analyser.fftSize);
  window.analyser.getFloatTimeDomainData(samples);
  return Math.max(...samples.map(Math.abs));
})()`;

describe.skipIf(missing !== null)(`docs/calls.md${skipped}`, () => {
  let folder = "";
  let service: RunningProcess & { url: string };
  let key = "";
  let context: BrowserContext;
  const programs: RunningProcess[] = [];

  beforeAll(async () => {
    folder = await temporaryFolder();
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "ada.jpg"), PHOTO);
    await writeFile(join(folder, "call.ts"), blockOf("program: call"));
    await writeFile(join(folder, "call.html"), blockOf("page: call"));
    await writeFile(join(folder, "hono.ts"), blockOf("program: hono"));
    const DATA_DIR = await preparedDataDirectory(join(folder, "data"));
    const LIVEKIT_SERVER_BIN = binary.kind === "found" ? binary.path : "";
    // From its source: a bundle has no avatar worker beside it.
    service = await start({ DATA_DIR, LIVEKIT_SERVER_BIN }, source(API));
    const [, first = ""] = await service.waitFor(/export API_KEY=(\S+)/);
    key = first;
    await service.waitFor(/"process":"avatar-worker".*"msg":"started"/);
    context = await (await sharedBrowser()).newContext();
    const body = await readFile(CLIENT, "utf8");
    await context.route("https://cdn.jsdelivr.net/**", (route) =>
      route.fulfill({ body, contentType: "text/javascript" }),
    );
  });
  afterAll(async () => {
    await context?.close();
    for (const program of programs) program.kill("SIGKILL");
    await Promise.all(programs.map(({ exited }) => exited));
    if (service) await stop(service);
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  /** Runs the program with a key, and returns the address of its page. */
  const startProgram = async (API_KEY: string) => {
    const command = ["sh", "-c", 'cd "$0" && exec "$@"', folder, ...source("call.ts")];
    const program = startProcess(command, { API_KEY, BASE_URL: `${service.url}/api/v1`, PAGE_PORT: "0" });
    programs.push(program);
    const [, port] = await program.waitFor(/port: (\d+)/);
    return { program, url: `http://localhost:${port}` };
  };
  const seesAndHears = async (page: Page): Promise<void> => {
    await page.waitForFunction(`${LOOK} > 0`);
    const pictures = new Set<unknown>();
    while (pictures.size < 4) pictures.add(await page.evaluate(LOOK));
    await page.waitForFunction(`${LEVEL} > 0.02`);
  };

  test("the page: 20 lines or so", () => {
    expect(blockOf("page: call").trim().split("\n").length).toBeLessThanOrEqual(20);
  });

  test("the program and the page, from the photo to the bill: the portrait moves, the sound plays, the end is shown", async () => {
    const { program, url } = await startProgram(key);
    const page = await context.newPage();
    await page.goto(url);
    await seesAndHears(page);
    await page.click("button");
    await page.waitForFunction('document.querySelector("p").textContent === "The call has ended."');
    await program.waitFor(/status: "released"/);
    const [, billed] = await program.waitFor(/billedCreditMicros: (\d+)/);
    expect(Number(billed)).toBeGreaterThanOrEqual(1_000_000);
    await program.waitFor(/reservedCreditMicros: 0/);
    await page.close();
  });

  test("the same with a test key: a call with TEST in the picture", async () => {
    const { body } = await call(`${service.url}/api/v1/api-keys`, key, {
      name: "test",
      environment: "test",
      scopes: ["*"],
    });
    const { url } = await startProgram(body.apiKey);
    const page = await context.newPage();
    await page.setViewportSize({ width: 560, height: 600 });
    await page.goto(url);
    await seesAndHears(page);
    const picture = process.env["CALL_PICTURE"];
    if (picture) {
      await mkdir(dirname(picture), { recursive: true });
      await page.screenshot({ path: picture });
    }
    await page.click("button");
    await page.waitForFunction('document.querySelector("p").textContent === "The call has ended."');
    await page.close();
  });
});
