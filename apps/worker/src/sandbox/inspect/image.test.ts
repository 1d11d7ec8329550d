import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import sharp from "sharp";
import { manyScans } from "../corpus/amplified.testing.ts";
import * as images from "../corpus/images.testing.ts";
import { inspectImage, restrict } from "./image.ts";

restrict(sharp);
// Other test files of this process read other formats.
afterAll(() => sharp.unblock({ operation: ["VipsForeignLoad"] }));

const inspect = (bytes: Buffer, contentType: ContentType<"image">) =>
  inspectImage(sharp, bytes, { kind: "image", contentType });

const { maxPixels, maxPublicSide } = ASSET_LIMITS.image;

test.skipIf(process.platform !== "linux" || process.env["LONG"] !== "1")(
  "a header that takes too much processor time: the process ends as at the limit of the kernel",
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

test("a JPEG with too many scans: refused before it is decoded", async () => {
  const { report } = await inspect(manyScans(), "image/jpeg");
  expect(report).toMatchObject({
    kind: "refused",
    code: "not_decodable",
    detail: expect.stringMatching(/ 883 scans.*\. Export it anew as JPEG or PNG\.$/),
  });
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

  test("an image, also valid as another format: the public image does not contain that format", async () => {
    const page = Buffer.from("<script>alert(1)</script>PK\x03\x04%PDF-1.7");
    const { report, publicImage } = await inspect(Buffer.concat([await images.png(), page]), "image/png");
    expect(report.kind).toBe("accepted");
    for (const words of ["<script>", "PK\x03\x04", "%PDF"]) expect(publicImage?.includes(words)).toBe(false);
  });
});

describe("a JPEG that libjpeg warns of", () => {
  /** Inserts bytes before the first table of quantization. */
  const before = async (...inserted: number[]): Promise<Buffer> => {
    const file = await images.jpeg();
    const at = file.indexOf(Buffer.from([0xff, 0xdb]));
    return Buffer.concat([file.subarray(0, at), Buffer.from(inserted), file.subarray(at)]);
  };
  test.each([
    ["spectral selection from 0 to 0, as some phones write it", async () => images.oddScans(await images.jpeg())],
    ["bytes between its segments", () => before(0, 0, 0)],
    [
      "a transformation that Adobe does not know",
      () => before(0xff, 0xee, 0, 14, ...Buffer.from("Adobe"), 0, 100, 0, 0, 0, 0, 7),
    ],
    ["zeros before its end", async () => images.withEnd((await images.jpeg()).subarray(0, -2), Buffer.alloc(100))],
    ["bytes after its end", async () => Buffer.concat([await images.jpeg(), Buffer.alloc(100, 7)])],
  ] as const)("a JPEG, with %s: accepted", async (_, image) => {
    const file = await image();
    const { report, publicImage } = await inspect(file, "image/jpeg");
    expect(report).toMatchObject({ kind: "accepted", width: 96, height: 64 });
    // The same picture as without this change.
    const plain = await inspect(await images.jpeg(), "image/jpeg");
    expect(publicImage).toEqual(plain.publicImage);
  });
});

describe("the colours of the public image", () => {
  const TEAL = { r: 18, g: 172, b: 163 };
  const teal = () => sharp({ create: { width: 32, height: 32, channels: 3, background: TEAL } });
  const colorOf = async (file: Buffer): Promise<number[]> => {
    const { publicImage } = await inspect(file, "image/png");
    const { data } = await sharp(publicImage ?? Buffer.alloc(0))
      .raw()
      .toBuffer({ resolveWithObject: true });
    return [...data.subarray(0, 3)];
  };
  const codePoints =
    (...values: number[]) =>
    (file: Buffer) =>
      images.withChunk(file, "cICP", Buffer.from(values));

  test.each([
    ["8 bits in Display P3", () => teal().withIccProfile("p3").png().toBuffer()],
    ["16 bits in Display P3", () => teal().toColourspace("rgb16").withIccProfile("p3").png().toBuffer()],
    ["16 bits without a profile", () => teal().toColourspace("rgb16").png().toBuffer()],
    [
      "16 bits, and code points of sRGB",
      async () => codePoints(1, 13, 0, 1)(await teal().toColourspace("rgb16").png().toBuffer()),
    ],
  ] as const)("a PNG, of %s: the colours that a browser shows", async (_, image) => {
    for (const [channel, value] of (await colorOf(await image())).entries()) {
      expect(Math.abs(value - (Object.values(TEAL)[channel] ?? 0))).toBeLessThanOrEqual(6);
    }
  });

  // The values that Chromium 156 shows for the same pixels of a video.
  test.each([
    ["PQ", [9, 16, 0, 1], [21, 115, 108]],
    ["HLG", [9, 18, 0, 1], [63, 92, 89]],
  ] as const)("a PNG, of code points of %s: the light of HDR is compressed", async (_, points, expected) => {
    const [r, g, b] = [0.3845, 0.4651, 0.4581].map((signal) => 255 * signal);
    const flat = sharp({ create: { width: 32, height: 32, channels: 3, background: { r, g, b } } });
    const shown = await colorOf(codePoints(...points)(await flat.png().toBuffer()));
    for (const [channel, value] of shown.entries()) {
      expect(Math.abs(value - (expected[channel] ?? 0))).toBeLessThanOrEqual(4);
    }
  });

  test("a grey PNG of 16 bits: stays grey", async () => {
    const [r, g, b] = await colorOf(
      await sharp({ create: { width: 32, height: 32, channels: 3, background: "#808080" } })
        .toColourspace("grey16")
        .png()
        .toBuffer(),
    );
    expect([r, g, b]).toEqual([128, 128, 128]);
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
  /** The defect, and the advice to the person. */
  const ADVICE = {
    not_decodable:
      "The image cannot be decoded: it is damaged or incomplete. Upload it again, or export it anew as JPEG or PNG.",
    content_type_mismatch: expect.stringMatching(/\. Export it anew as JPEG or PNG\.$/),
    too_many_frames: expect.stringMatching(/\. Export one of them as PNG\.$/),
  };

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
    [
      "half a JPEG with an end",
      async () => images.withEnd((await images.jpeg()).subarray(0, 700)),
      "image/jpeg",
      "not_decodable",
    ],
    [
      "half a JPEG with odd scan parameters",
      async () => images.withEnd(images.oddScans(await images.jpeg()).subarray(0, 700)),
      "image/jpeg",
      "not_decodable",
    ],
    ["half a PNG", async () => (await images.png()).subarray(0, 1000), "image/png", "not_decodable"],
    ["half a WebP", async () => (await images.webp()).subarray(0, 500), "image/webp", "not_decodable"],
    ["an animated WebP", images.animatedWebp, "image/webp", "too_many_frames"],
    ["an animated PNG", async () => images.apng(), "image/png", "too_many_frames"],
  ] as const)("bytes, %s: refused as an image", async (_, image, contentType, code) => {
    const { report, publicImage } = await inspect(await image(), contentType);
    expect([report, publicImage]).toMatchObject([{ kind: "refused", code, detail: ADVICE[code] }, null]);
  });

  test("an image, too many pixels by its header: refused, with limit and measure", async () => {
    const { report } = await inspect(images.rawPng({ width: 8000, height: 5001, data: Buffer.alloc(9) }), "image/png");
    expect(report).toEqual({
      kind: "refused",
      code: "too_many_pixels",
      detail:
        "The image has 8000 x 5001 = 40008000 pixels; the maximum is 40000000. Scale it down to at most 2048 pixels on its longer side: an avatar needs no more.",
      measured: 40_008_000,
    });
    for (const image of [await images.resizedJpeg(65_500, 65_500), images.emptyWebp(16_383)]) {
      const contentType = image[0] === 0xff ? "image/jpeg" : "image/webp";
      expect((await inspect(image, contentType)).report.kind).toBe("refused");
    }
  });
});
