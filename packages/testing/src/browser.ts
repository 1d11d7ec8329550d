/** Starts a real browser, if one is installed. */
import { type Browser, chromium } from "playwright-core";
import { removeAtEnd, temporaryFolder } from "./temporary-folder.ts";

export type { Browser, BrowserContext, Page } from "playwright-core";

const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Path of the browser's executable; undefined if none is installed. The headless shell takes the least processor time. */
export const BROWSER = NAMES.map((name) => Bun.which(name)).find(Boolean);

/** Starts the browser headless, with `home` as its home directory. */
export const launchBrowser = (home: string): Promise<Browser> =>
  chromium.launch({
    executablePath: BROWSER as string,
    env: { HOME: home, PATH: process.env["PATH"] ?? "" },
    // The sandbox does not work as root, as in a container. The other flags prevent the browser's own network requests.
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // The pages of tests are short-lived. Optimizing their scripts takes more processor time than it saves. Compiling
      // them at once, without optimization, saves processor time.
      "--js-flags=--no-opt --no-maglev --always-sparkplug",
      // A microphone that beeps once a second. No click and no permission is needed.
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      "--autoplay-policy=no-user-gesture-required",
    ],
  });

let shared: Promise<Browser> | null = null;

const launchShared = async (): Promise<Browser> => {
  const home = await temporaryFolder();
  removeAtEnd(home);
  return launchBrowser(home);
};

/**
 * The browser that the test files of this process share, because its start takes two seconds of processor time. Close
 * the contexts, which are independent of each other. The browser ends with this process, because that closes the pipe
 * to it.
 */
export const sharedBrowser = (): Promise<Browser> => {
  shared ??= launchShared();
  return shared;
};

/** A script for the page of a call: returns the sum of the picture's pixels. */
export const LOOK = `(() => {
  const canvas = new OffscreenCanvas(64, 64).getContext("2d");
  canvas.drawImage(document.querySelector("video"), 0, 0, 64, 64);
  return canvas.getImageData(0, 0, 64, 64).data.reduce((sum, value, at) => (at % 4 === 3 ? sum : sum + value), 0);
})()`;
/** A script for the page of a call: returns the loudest sample of its sound. */
export const LEVEL = `(() => {
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
