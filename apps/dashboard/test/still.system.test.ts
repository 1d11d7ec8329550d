/** The picture before a call: at the place of the live picture, for every orientation of the photo or the video. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BROWSER } from "@realtime-avatar/testing/browser";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { runToEnd } from "@realtime-avatar/testing/processes";
import { seedKey } from "@realtime-avatar/testing/seeds";
import { temporaryFolder } from "@realtime-avatar/testing/temporary-folder";
import sharp, { type Sharp } from "sharp";
import { createCaller } from "./support/calls.ts";
import { DESKTOP } from "./support/person.ts";
import { FFMPEG } from "./support/sources.ts";
import { fileWorld } from "./support/world.ts";

// The page before a call does not need a responding LiveKit.
const SECRET = "s".repeat(32);
const livekit = { LIVEKIT_URL: "ws://127.0.0.1:1", LIVEKIT_API_KEY: "k", LIVEKIT_API_SECRET: SECRET };
const { service, page } = await fileWorld({ WORKER: "true", ...livekit, AVATAR_WORKER_SECRET: SECRET });
/** Few pixels, so that different scaling by browsers and libvips does not matter. */
const SIDE = 50;

/** A tall part of the portrait that is stored sideways, as a photo and as a video. */
const lyingPhoto = async (folder: string): Promise<string> => {
  const path = join(folder, "lying.jpg");
  const part = await sharp(portraitPath()).extract({ left: 100, top: 0, width: 600, height: 800 }).toBuffer();
  await sharp(part).rotate(90).jpeg({ quality: 95 }).toFile(path);
  return path;
};
const lyingVideo = async (folder: string): Promise<string> => {
  const path = join(folder, "lying.mp4");
  const input = ["-loop", "1", "-r", "5", "-t", "2", "-i", await lyingPhoto(folder)];
  const output = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", path];
  await runToEnd([FFMPEG ?? "", "-nostdin", "-y", "-loglevel", "error", ...input, ...output]);
  return path;
};

/** The middle of a square picture as numbers, because its corners are round on the page. */
const middleOf = (picture: Sharp): Promise<Buffer> =>
  picture
    .resize(SIDE, SIDE)
    .removeAlpha()
    .toBuffer()
    .then((bytes) => sharp(bytes).extract({ left: 5, top: 5, width: 40, height: 40 }).raw().toBuffer());
const distance = (one: Buffer, other: Buffer): number =>
  one.reduce((sum, value, at) => sum + Math.abs(value - (other[at] ?? 0)), 0) / one.length;

describe.skipIf(!BROWSER)("the picture before a call, in Chromium", () => {
  test.each([
    ["photo", "image", lyingPhoto],
    ["video", "video", lyingVideo],
  ] as const)("a %s that is stored sideways: upright, and cut like the live picture", async (_, sourceKind, make) => {
    if (sourceKind === "video" && !FFMPEG) return;
    const path = await make(await temporaryFolder());
    const { secret } = await seedKey(service.database.db, service.tenantId, { environment: "live", scopes: ["*"] });
    const call = createCaller(service, secret.reveal());
    const form = new FormData();
    form.set("file", Bun.file(path), path.split("/").at(-1));
    const headers = { authorization: `Bearer ${secret.reveal()}` };
    const upload = await fetch(`${service.url}/api/v1/assets`, { method: "POST", headers, body: form });
    const { id: sourceAssetId } = (await upload.json()) as { id: string };
    let avatar = await call("POST", "/avatars", { displayName: "Grace", sourceKind, sourceAssetId });
    while (avatar["status"] === "preprocessing") {
      await Bun.sleep(100);
      avatar = await call("GET", `/avatars/${avatar["id"]}`);
    }
    expect(avatar["status"]).toBe("ready");
    // An avatar worker publishes the prepared picture, which is square.
    const prepared = Buffer.from(await (await fetch(`${avatar["previewUrl"]}/picture`)).arrayBuffer());
    const { width, height } = await sharp(prepared).metadata();
    expect([width, height]).toEqual([600, 600]);
    const live = sharp(await sharp(prepared).resize(800, 800).toBuffer());
    await page.setViewportSize(DESKTOP);
    await page.goto(`${service.url}/dashboard/call?avatar=${avatar["id"]}`);
    const still = page.locator("img[data-still]");
    await still.waitFor();
    await page.evaluate("document.querySelector('img[data-still]').decode()");
    const shown = await middleOf(sharp(await still.screenshot()));
    const expected = await middleOf(live);
    expect(distance(shown, expected)).toBeLessThan(12);
    // For the sideways picture, the number is far from this.
    expect(
      distance(
        shown,
        await middleOf(
          sharp(
            await sharp(await live.toBuffer())
              .rotate(90)
              .toBuffer(),
          ),
        ),
      ),
    ).toBeGreaterThan(30);
    // The live picture has the same place.
    const [place, livePlace] = [await still.boundingBox(), await page.locator("video").boundingBox()];
    expect(place).toEqual(livePlace);
  });
});
