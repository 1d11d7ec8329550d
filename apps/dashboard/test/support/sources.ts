/** Files for sources of avatars, and control over the time that the browser takes to measure them. */
import { until } from "@realtime-avatar/testing/until";
import type { Locator, Page } from "playwright-core";

/** The file input of the open dialog. */
export const chooser = (page: Page) => page.getByLabel(/^Drop a|Click or drop/);

/** The width of the decoded picture. */
export const naturalWidth = (picture: Locator): Promise<number> =>
  picture.evaluate(async (image: HTMLImageElement) => {
    await image.decode();
    return image.naturalWidth;
  });

/** A photo that is cut after its first bytes. */
export const DAMAGED_PNG = Buffer.from("89504e470d0a1a0a0000000d4948445200000001", "hex");

/** Blocks the measurement of each image, until `release`. */
export const HOLD = `
  window.decode ??= window.createImageBitmap;
  window.release = undefined;
  window.createImageBitmap = (file) => new Promise((resolve) => (window.release = () => resolve(window.decode(file))));
`;

/**
 * Waits until the measurement of an image is blocked. `waitForFunction` polls with `eval`, which the policy of the page
 * forbids.
 */
export const released = (page: Page): Promise<unknown> =>
  until(() => page.evaluate("typeof window.release === 'function'"));

export const FFMPEG = Bun.which("ffmpeg");

/** Writes videos of a photo, in one process: for each path, with its options of ffmpeg. */
export const makeVideos = async (photo: string, videos: Record<string, string>): Promise<void> => {
  const input = ["-v", "error", "-loop", "1", "-framerate", "10", "-i", photo];
  const outputs = Object.entries(videos).flatMap(([path, options]) => [
    ...`-pix_fmt yuv420p ${options}`.split(" "),
    path,
  ]);
  const made = Bun.spawn([FFMPEG as string, ...input, ...outputs], { stderr: "pipe" });
  if ((await made.exited) !== 0) throw new Error(await new Response(made.stderr).text());
};
