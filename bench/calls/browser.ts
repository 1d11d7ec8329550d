/** The unchanged page of docs/calls.md in Chromium: the time until it shows the first frame of a call. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Browser, launchBrowser } from "@realtime-avatar/testing/browser";
import { ROOT } from "../machine.ts";

const CLIENT = join(dirname(Bun.resolveSync("livekit-client", import.meta.dir)), "livekit-client.umd.js");

/** Runs before the scripts of the page, once its elements exist. */
const WATCH = `document.addEventListener("readystatechange", () => {
  document.querySelector("video").requestVideoFrameCallback(() => {
    window.firstFrameAt = performance.now();
  });
}, { once: true });`;

/**
 * From the request for a call, which the page sends to its backend, to the first decoded frame, just before it is
 * shown.
 */
const FIRST_FRAME_MS = `window.firstFrameAt
  - performance.getEntriesByType("resource").find(({ name }) => new URL(name).pathname === "/call").startTime`;

/** The backend of the page: `start` returns the grant, `end` ends the call. */
export type Backend = { start(): Promise<{ session_id: string }>; end(sessionId: string): Promise<void> };

const serve = async ({ start, end }: Backend) => {
  const document = await readFile(join(ROOT, "docs/calls.md"), "utf8");
  const [, page = ""] = /<!-- page: call -->\n```html\n(.*?)```/s.exec(document) ?? [];
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async ({ method, url }) => {
      const { pathname } = new URL(url);
      if (method === "POST" && pathname === "/call") return Response.json(await start());
      if (method === "POST") return new Response(await end(pathname.slice(1)).then(() => null));
      return new Response(page, { headers: { "content-type": "text/html" } });
    },
  });
};

/** One call: opens the page, waits for the first frame, and hangs up. */
const measureCall = async (browser: Browser, url: string): Promise<number> => {
  const context = await browser.newContext();
  const script = await readFile(CLIENT, "utf8");
  await context.route("https://cdn.jsdelivr.net/**", (route) =>
    route.fulfill({ body: script, contentType: "text/javascript" }),
  );
  await context.addInitScript(WATCH);
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction("window.firstFrameAt !== undefined");
  const milliseconds = Number(await page.evaluate(FIRST_FRAME_MS));
  await page.click("button");
  await page.waitForFunction('document.querySelector("p").textContent === "The call has ended."');
  await context.close();
  return milliseconds;
};

/**
 * The milliseconds from the start of a call to the first frame, of `count` calls. An additional first call is not
 * counted.
 */
export const measureBrowser = async (folder: string, backend: Backend, count: number): Promise<number[]> => {
  const [browser, server] = [await launchBrowser(folder), await serve(backend)];
  const times: number[] = [];
  for (let call = 0; call <= count; call++) times.push(await measureCall(browser, server.url.href));
  await browser.close();
  await server.stop(true);
  return times.slice(1);
};
