/** For tests: a real browser, where the machine has one. */
import { type Browser, chromium } from "playwright-core";

export type { Browser, Page } from "playwright-core";

/** The browser's program; undefined where there is none. */
export const BROWSER = ["chromium", "chromium-browser", "google-chrome"].map((name) => Bun.which(name)).find(Boolean);

/** Starts it without a window; what it keeps of its own goes into `home`. */
export const launchBrowser = (home: string): Promise<Browser> =>
  chromium.launch({
    executablePath: BROWSER as string,
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
    // Root, as in a container, has no sandbox; the others keep the browser from asking hosts of its own.
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
