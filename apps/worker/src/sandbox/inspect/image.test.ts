import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import sharp from "sharp";
import { manyScans } from "../corpus/amplified.testing.ts";
import * as images from "../corpus/images.testing.ts";
import { inspectImage, restrict } from "./image.ts";

restrict(sharp);
// Other files of this process read other formats.
afterAll(() => sharp.unblock({ operation: ["VipsForeignLoad"] }));

const inspect = (bytes: Buffer, contentType: ContentType<"image">) =>
  inspectImage(sharp, bytes, { kind: "image", contentType });

const { maxPixels, maxPublicSide } = ASSET_LIMITS.image;

test.skipIf(process.platform !== "linux" || process.env["LONG"] !== "1")(
  "a header that takes too much processor time: the process ends as by the kernel",
  async () => {
    const program = `import { readHeader } from ${JSON.stringify(join(import.meta.dir, "image.ts"))};
      const spin = () => {
        for (const end = Date.now() + 50; Date.now() < end; );
        setTimeout(spin, 0);
      };
      await readHeader(() => ({ metadata: () => new Promise(spin) }), Buffer.from("x"), "image/jpeg");`;
    const child = Bun.spawn([process.execPath, "--no-env-file", "-e", program]);
    await child.exited;
    expect(String(child.signalCode)).toBe("SIGXCPU");
  },
  120_000,
);

test("a JPEG of more scans than pictures have: refused before it is decoded", async () => {
  const { report } = await inspect(manyScans(), "image/jpeg");
  expect(report).toMatchObject({ kind: "refused", code: "not_decodable", detail: expect.stringMatching(/883 scans/) });
});

describe("an accepted image", () => {
  test.each([
    ["image/jpeg", images.jpeg],
    ["image/png", images.png],
    ["image/webp", images.webp],
  ] as const)("an image, of type %s: accepted, with a public WebP", async (contentType, image) => {
    const { report, publicImage } = await inspect(await image(), contentType);
    const publicBytes = publicImage?.length ?? 0;
    expect(report).toEqual({
      kind: "accepted",
      width: 96,
      height: 64,
      publicWidth: 96,
      publicHeight: 64,
      publicBytes,
    });
    expect(await sharp(publicImage ?? Buffer.alloc(0)).metadata()).toMatchObject({ format: "webp", width: 96 });
  });

  test.each([
    ["CMYK", () => images.picture().toColourspace("cmyk").jpeg().toBuffer(), "image/jpeg"],
    ["grey", () => images.picture().greyscale().jpeg().toBuffer(), "image/jpeg"],
    ["progressive", () => images.picture().jpeg({ progressive: true }).toBuffer(), "image/jpeg"],
    ["with 16 bits", () => images.picture().toColourspace("rgb16").png().toBuffer(), "image/png"],
    ["with a palette", () => images.picture().png({ palette: true }).toBuffer(), "image/png"],
    ["interlaced", () => images.picture().png({ progressive: true }).toBuffer(), "image/png"],
    ["with transparency", () => images.picture(96, 64, 4).png().toBuffer(), "image/png"],
    ["lossless", () => images.picture().webp({ lossless: true }).toBuffer(), "image/webp"],
    ["of one bit", async () => images.rawPng({ width: 96, height: 64, bits: 1 }), "image/png"],
  ] as const)("an image, %s: accepted, public as sRGB with 8 bits", async (_, image, contentType) => {
    const { report, publicImage } = await inspect(await image(), contentType);
    expect(report).toMatchObject({ kind: "accepted", width: 96, height: 64 });
    expect(await sharp(publicImage ?? Buffer.alloc(0)).metadata()).toMatchObject({ space: "srgb", depth: "uchar" });
  });

  test("an image, of the largest size: scaled down for the public", async () => {
    const [width, height] = [8000, maxPixels / 8000];
    const { report } = await inspect(images.rawPng({ width, height }), "image/png");
    expect(report).toMatchObject({
      ...{ kind: "accepted", width, height },
      ...{ publicWidth: maxPublicSide, publicHeight: Math.round((height * maxPublicSide) / width) },
    });
  });

  test("an image, also valid as another format: the public one has none of it", async () => {
    const page = Buffer.from("<script>alert(1)</script>PK\x03\x04%PDF-1.7");
    const { report, publicImage } = await inspect(Buffer.concat([await images.png(), page]), "image/png");
    expect(report.kind).toBe("accepted");
    for (const words of ["<script>", "PK\x03\x04", "%PDF"]) expect(publicImage?.includes(words)).toBe(false);
  });
});

test("the public image, of a tagged photo: turned, without EXIF, place, profile or XMP", async () => {
  const source = await images.tagged();
  expect(source.includes(images.CAMERA)).toBe(true);
  expect((await sharp(source).metadata()).exif?.length).toBeGreaterThan(100);
  const { report, publicImage } = await inspect(source, "image/jpeg");
  expect(report).toMatchObject({ kind: "accepted", width: 64, height: 96, publicWidth: 64, publicHeight: 96 });
  const metadata = await sharp(publicImage ?? Buffer.alloc(0)).metadata();
  const { exif, xmp, icc, iptc, orientation } = metadata;
  expect([exif, xmp, icc, iptc, orientation]).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(publicImage?.includes(images.CAMERA)).toBe(false);
});

describe("a refused image", () => {
  test.each([
    ["nothing", async () => Buffer.alloc(0), "image/png", "not_decodable"],
    ["text", async () => Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"), "image/png", "not_decodable"],
    ["a GIF", images.gif, "image/png", "not_decodable"],
    ["another type", images.jpeg, "image/png", "content_type_mismatch"],
    ["half a JPEG", async () => (await images.jpeg()).subarray(0, 700), "image/jpeg", "not_decodable"],
    [
      "a JPEG without its last bytes",
      async () => (await images.jpeg()).subarray(0, -20),
      "image/jpeg",
      "not_decodable",
    ],
    ["half a PNG", async () => (await images.png()).subarray(0, 1000), "image/png", "not_decodable"],
    ["half a WebP", async () => (await images.webp()).subarray(0, 500), "image/webp", "not_decodable"],
    ["an animated WebP", images.animatedWebp, "image/webp", "too_many_frames"],
    ["an animated PNG", async () => images.apng(), "image/png", "too_many_frames"],
  ] as const)("bytes, %s: refused as an image", async (_, image, contentType, code) => {
    const { report, publicImage } = await inspect(await image(), contentType);
    expect([report, publicImage]).toMatchObject([{ kind: "refused", code }, null]);
  });

  test("an image, too many pixels by its header: refused, with limit and measure", async () => {
    const { report } = await inspect(images.rawPng({ width: 8000, height: 5001, data: Buffer.alloc(9) }), "image/png");
    expect(report).toEqual({
      kind: "refused",
      code: "too_many_pixels",
      detail: "The image has 8000 x 5001 = 40008000 pixels; the maximum is 40000000.",
      measured: 40_008_000,
    });
    for (const image of [await images.resizedJpeg(65_500, 65_500), images.emptyWebp(16_383)]) {
      const contentType = image[0] === 0xff ? "image/jpeg" : "image/webp";
      expect((await inspect(image, contentType)).report.kind).toBe("refused");
    }
  });
});
