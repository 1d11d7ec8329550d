/** EXIF data: only the orientation reaches libvips. */
import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { jpegWithExif, loopingExif } from "../corpus/amplified.testing.ts";
import { CAMERA, picture } from "../corpus/images.testing.ts";
import { reduceExif } from "./exif.ts";
import { inspectImage } from "./image.ts";

const FORMATS = ["jpeg", "png", "webp"] as const;

/** An image with a camera and an orientation in its EXIF data. */
const withOrientation = (format: (typeof FORMATS)[number], orientation: number): Promise<Buffer> =>
  picture(96, 64)
    .withExif({ IFD0: { Make: CAMERA } })
    .withMetadata({ orientation })
    [format]()
    .toBuffer();

describe.each(FORMATS)("EXIF data of a %s", (format) => {
  const contentType = `image/${format}` as const;

  test.each([1, 2, 3, 4, 5, 6, 7, 8])("with orientation %d: it is kept, and nothing else", async (orientation) => {
    const file = await withOrientation(format, orientation);
    const length = file.length;
    expect(file.includes(CAMERA)).toBe(true);
    reduceExif(file, contentType);
    expect([file.length, file.includes(CAMERA)]).toEqual([length, false]);
    const metadata = await sharp(file, { failOn: "warning" }).metadata();
    expect(metadata).toMatchObject({ format, orientation });
    expect(await sharp(file, { failOn: "warning" }).autoOrient().toBuffer({ resolveWithObject: true })).toMatchObject({
      info: orientation > 4 ? { width: 64, height: 96 } : { width: 96, height: 64 },
    });
  });

  test("cut off at each byte: no error", async () => {
    const file = await withOrientation(format, 6);
    for (let end = 0; end < Math.min(file.length, 1000); end++)
      expect(() => reduceExif(Buffer.from(file.subarray(0, end)), contentType)).not.toThrow();
  });
});

test("big-endian EXIF data, as from many cameras: the orientation is kept", async () => {
  const exif = Buffer.from("4d4d002a0000000800010112000300000001000600000000000000000000", "hex");
  const file = await jpegWithExif(exif);
  reduceExif(file, "image/jpeg");
  expect((await sharp(file).metadata()).orientation).toBe(6);
});

test.each([
  ["directly", (file: Buffer) => file],
  // libjpeg skips bytes that are not a marker.
  [
    "after other bytes",
    (file: Buffer) => Buffer.concat([file.subarray(0, 2), Buffer.from([1, 2, 3]), file.subarray(2)]),
  ],
  [
    "a second time",
    (file: Buffer) => Buffer.concat([file.subarray(0, file.indexOf("Exif") + 6 + 14 + 12 * 500), file.subarray(2)]),
  ],
])("EXIF data that point to themselves, %s: none of their entries remains", async (_, place) => {
  const file = place(await jpegWithExif(loopingExif(500)));
  expect(file.includes(Buffer.from([0x69, 0x87]))).toBe(true);
  reduceExif(file, "image/jpeg");
  const header = file.subarray(0, file.indexOf(Buffer.from([0xff, 0xdb])));
  expect(header.includes(Buffer.from([0x69, 0x87]))).toBe(false);
});

test("an image whose EXIF data point to themselves: accepted", async () => {
  const file = await jpegWithExif(loopingExif(5000));
  const { report } = await inspectImage(sharp, file, { kind: "image", contentType: "image/jpeg" });
  expect(report).toMatchObject({ kind: "accepted", width: 600, height: 600 });
});
