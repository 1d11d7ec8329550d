/** Pictures with real faces, in this process. The sandbox has separate tests. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { MESH_POINTS, manifestFace, readMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import { landscapePath, portraitPath } from "@realtime-avatar/testing/photos";
import sharp, { type Sharp } from "sharp";
import { imageChecks } from "../../preparation/checks.ts";
import { oddScans, picture as pattern } from "../corpus/images.testing.ts";
import { restrict } from "../inspect/image.ts";
import { type FindFaces, loadFaces, type Picture } from "./faces.ts";
import { decodePicture, encodeFiles, measurePicture, NORMALIZED_SIDES, PICTURE_SIDE, THUMB_SIDE } from "./picture.ts";
import { measurePortrait } from "./portrait.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(120_000);

restrict(sharp);
// Other test files of this process read other formats.
afterAll(() => sharp.unblock({ operation: ["VipsForeignLoad"] }));
const [fetchBefore, consoleBefore] = [globalThis.fetch, { ...globalThis.console }];
let findFaces: FindFaces;
let portrait: Buffer;
/** The measures of the unchanged portrait. */
let asItIs: Awaited<ReturnType<typeof measurePicture>>;
beforeAll(async () => {
  portrait = await readFile(portraitPath());
  findFaces = await (await loadFaces()).start();
  asItIs = await find(await decode(portrait));
});
afterAll(() => {
  globalThis.fetch = fetchBefore;
  Object.assign(globalThis.console, consoleBefore);
});

/** An uncompressed PNG, which is fast to write and to read. */
const png = (image: Sharp) => image.png({ compressionLevel: 0 }).toBuffer();
const decode = async (image: Sharp | Buffer) =>
  decodePicture(sharp, Buffer.isBuffer(image) ? image : await png(image), 40_000_000);
const find = (picture: Picture) => measurePicture(sharp, findFaces, picture);
const measure = async (image: Sharp | Buffer) => (await find(await decode(image))).measures;
const photo = () => sharp(portrait);

describe("a portrait", () => {
  test("a portrait, measured: one face, looking at the camera", () => {
    const { faces, face } = asItIs.measures;
    expect(faces).toBe(1);
    expect(face?.confidence).toBeGreaterThan(70);
    expect(Math.abs(face?.yaw ?? 90)).toBeLessThan(25);
    expect(Math.abs(face?.pitch ?? 90)).toBeLessThan(20);
    expect(face?.edgeDistance).toBeGreaterThan(0);
  });

  test("a portrait, mirrored: looks to the other side", async () => {
    const [one, other] = [asItIs.measures, await measure(photo().flop())];
    expect(Math.abs((one.face?.yaw ?? 0) + (other.face?.yaw ?? 90))).toBeLessThan(6);
    expect(Math.abs((one.face?.pitch ?? 0) - (other.face?.pitch ?? 90))).toBeLessThan(6);
  });

  test("a portrait, turned by its EXIF data: the same size and one face", async () => {
    const wide = await png(photo().extend({ right: 200, background: "#888" }));
    const lying = await sharp(wide).rotate(-90).withMetadata({ orientation: 6 }).jpeg({ quality: 95 }).toBuffer();
    const [one, other] = [await decode(wide), await decode(lying)];
    expect([other.width, other.height]).toEqual([one.width, one.height]);
    expect((await find(other)).measures.faces).toBe(1);
  });

  test.each([90, 180, 270] as const)("a portrait, lying turned by %d°: turned upright by its face", async (angle) => {
    const wide = sharp(await png(photo().extend({ right: 200, background: "#888" })));
    const [upright, lying] = [await find(await decode(wide)), await find(await decode(wide.clone().rotate(angle)))];
    expect([lying.measures.turned, lying.picture.width]).toEqual([360 - angle, upright.picture.width] as never);
    for (const measure of ["roll", "size", "brightness"] as const) {
      const difference = (lying.measures.face?.[measure] ?? 99) - (upright.measures.face?.[measure] ?? 0);
      expect([measure, Math.abs(difference) < 3]).toEqual([measure, true]);
    }
  });

  test("two portraits, beside each other: two faces, none measured", async () => {
    const half = await photo().resize(500, 500).toBuffer();
    const twice = sharp({ create: { width: 1000, height: 500, channels: 3, background: "#888" } }).composite([
      { input: half, left: 0, top: 0 },
      { input: half, left: 500, top: 0 },
    ]);
    expect(await measure(twice)).toEqual({ turned: 0, faces: 2, face: null });
  });

  test("a portrait, in a wide and a high picture: found at its place", async () => {
    const box = asItIs.derived?.box;
    for (const [x, y] of [
      [600, 0],
      [0, 600],
    ] as const) {
      const larger = photo().extend({ left: x, right: x, top: y, bottom: y, background: "#888" });
      const found = (await find(await decode(larger))).derived?.box;
      const moved = (["left", "top", "right", "bottom"] as const).map((side) => {
        const offset = side === "left" || side === "right" ? x : y;
        return Math.abs((found?.[side] ?? 0) - offset - (box?.[side] ?? 0));
      });
      // The detector sees a smaller face, so its position differs a little.
      for (const distance of moved) expect(distance).toBeLessThan(20);
    }
  });

  test("a portrait, farther, darker, blurred or cut: the measure changes accordingly", async () => {
    const { measures, derived } = asItIs;
    const box = derived?.box;
    const good = measures.face;
    const change = async (image: Sharp) => (await measure(image)).face;
    const { width = 0, height = 0 } = await photo().metadata();
    const far = await change(photo().extend({ top: height, bottom: height, left: width, right: width }));
    expect((far?.size ?? 90) / (good?.size ?? 1)).toBeCloseTo(1 / 3, 1);
    expect((await change(photo().linear(0.3, 0)))?.brightness).toBeLessThan(0.5 * (good?.brightness ?? 0));
    expect((await change(photo().blur(8)))?.sharpness).toBeLessThan(0.5 * (good?.sharpness ?? 0));
    const top = Math.round((box?.top ?? 0) + 0.1 * ((box?.bottom ?? 0) - (box?.top ?? 0)));
    const cut = await change(photo().extract({ left: 0, top, width, height: height - top }));
    expect(cut?.edgeDistance).toBeLessThan(5);
  });
});

test.each([
  ["a landscape", () => readFile(landscapePath())],
  ["a pattern", () => png(pattern(700, 700))],
  ["only grey", () => png(sharp({ create: { width: 600, height: 600, channels: 3, background: "#777" } }))],
] as const)("a picture of %s, measured: no face", async (_, image) => {
  expect(await measure(await image())).toEqual({ turned: 0, faces: 0, face: null });
});

/** The size that a face needs to be found. */
const small = () => photo().resize(400);
test.each([
  ["grey", () => small().greyscale().jpeg().toBuffer()],
  ["CMYK", () => small().toColourspace("cmyk").jpeg().toBuffer()],
  ["with 16 bits", () => small().toColourspace("rgb16").png({ compressionLevel: 0 }).toBuffer()],
  ["with a palette", () => small().png({ palette: true }).toBuffer()],
  ["with transparency", () => png(small().ensureAlpha(0.9))],
  ["as WebP", () => small().webp().toBuffer()],
] as const)("a portrait, %s: has three channels; its face is found", async (_, image) => {
  const picture = await decode(await image());
  expect(picture.data.length).toBe(picture.width * picture.height * 3);
  expect((await find(picture)).measures.faces).toBe(1);
});

describe("the files of a portrait", () => {
  /** The input of the files. Drawing and encoding the moving preview takes most of the time of `encodeFiles`. */
  const derive = async (image: Sharp | Buffer) => {
    const { derived, measures } = await find(await decode(image));
    if (!derived || measures.turned !== 0) throw new Error("There is no face.");
    return { derived, mesh: measures.face?.mesh ?? "" };
  };
  const files = async (image: Sharp | Buffer) => encodeFiles(sharp, (await derive(image)).derived, "AI");

  test("the files, of equal pictures: equal, WebP, their sizes, no metadata", async () => {
    const large = await photo()
      .resize(2000)
      .withExif({ IFD0: { Make: "Secret Camera" } })
      .jpeg()
      .toBuffer();
    const { normalized, thumb, animated } = await files(large);
    for (const [bytes, side] of [
      [normalized, NORMALIZED_SIDES.max],
      [thumb, THUMB_SIDE],
    ] as const) {
      const { format, width, height, exif, icc, xmp } = await sharp(bytes).metadata();
      expect({ format, width, height, exif, icc, xmp }).toEqual({ format: "webp", width: side, height: side } as never);
    }
    const moving = await sharp(animated, { animated: true }).metadata();
    expect(moving).toMatchObject({ format: "webp", width: 256, pageHeight: 256, pages: 40, loop: 0 });
    expect([moving.exif, moving.icc, moving.delay?.every((ms) => ms === 50)]).toEqual([undefined, undefined, true]);
    const again = await files(large);
    for (const name of ["normalized", "thumb", "animated"] as const) {
      expect([name, again[name].equals({ normalized, thumb, animated }[name])]).toEqual([name, true]);
    }
  });

  test("the normalized image, of a far face in a wide picture: a square in which the face has 42 % of the height", async () => {
    const wide = photo().resize(600).extend({ left: 300, right: 900, bottom: 400, background: "#345" });
    const { normalized, thumb } = await files(wide);
    const { width, height } = await sharp(normalized).metadata();
    expect([width, height]).toEqual([NORMALIZED_SIDES.min, NORMALIZED_SIDES.min]);
    const { face } = await measure(sharp(normalized));
    expect(Math.abs((face?.size ?? 0) - 42)).toBeLessThan(3);
    expect((await measure(sharp(thumb))).face?.size).toBeGreaterThan(30);
  });

  test("the normalized image, of a near face: the largest square of the picture", async () => {
    const { left = 0, top = 0, right = 0, bottom = 0 } = asItIs.derived?.box ?? {};
    const side = Math.round(1.3 * (bottom - top));
    const near = photo()
      .extract({
        left: Math.round((left + right - side) / 2),
        top: Math.round((top + bottom - side) / 2),
        width: side,
        height: side,
      })
      .resize(600);
    expect((await derive(near)).derived.normalized).toMatchObject({ width: 600, height: 600 });
  });

  test("the mesh, of the normalized image: at the place of the face, for each size", async () => {
    for (const size of [800, 2000]) {
      const { derived, mesh } = await derive(photo().resize(size));
      const { normalized } = derived;
      const points = readMesh({ face: manifestFace(mesh) }, normalized.width, normalized.width) ?? new Float32Array();
      const box = (await find(normalized)).derived?.box;
      const ys = Array.from({ length: MESH_POINTS }, (_, point) => points[3 * point + 1] ?? 0);
      expect(Math.abs(Math.min(...ys) - (box?.top ?? -99)) / normalized.width).toBeLessThan(0.02);
      expect(Math.abs(Math.max(...ys) - (box?.bottom ?? -99)) / normalized.width).toBeLessThan(0.02);
    }
  });
});

test("a picture, larger than measured: scaled down", async () => {
  const { width, height } = await decode(await sharp(portrait).resize(2400, 1800).jpeg().toBuffer());
  expect([width, height]).toEqual([PICTURE_SIDE, (PICTURE_SIDE * 3) / 4]);
});

describe("a measured image", () => {
  const measure = (bytes: Buffer, contentType: "image/jpeg" | "image/png" = "image/jpeg") =>
    measurePortrait(sharp, async () => findFaces, bytes, { kind: "portrait", contentType, label: "AI" });

  test("an image, of few pixels: measured, fails by its resolution", async () => {
    const { report } = await measure(await photo().resize(400).jpeg().toBuffer());
    if (report.kind !== "accepted") throw new Error(report.detail);
    expect(report).toMatchObject({ width: 400, height: 400, faces: 1 });
    const failures = imageChecks(report).filter(({ verdict }) => verdict === "fail");
    expect(failures.map(({ code }) => code)).toEqual(["resolution"]);
  });

  test("an image, damaged after its header: refused, without files", async () => {
    const { report, files } = await measure(portrait.subarray(0, 20_000));
    const detail = expect.stringContaining("Upload it again");
    expect([report, files]).toMatchObject([{ kind: "refused", code: "not_decodable", detail }, null]);
  });

  test("an image, of 16 bits in Display P3: the colours of its files are those of the same image with 8 bits", async () => {
    const colors = async (image: Sharp) => {
      const { files } = await measure(await image.withIccProfile("p3").png().toBuffer(), "image/png");
      const { channels } = await sharp(files?.normalized).stats();
      return channels.map(({ mean }) => mean);
    };
    // Without the profile, the colours are paler.
    const vivid = () => photo().resize(600).modulate({ saturation: 1.6 });
    const [expected, shown] = [await colors(vivid()), await colors(vivid().toColourspace("rgb16"))];
    for (const [channel, value] of shown.entries()) {
      expect(Math.abs(value - (expected[channel] ?? 0))).toBeLessThan(1);
    }
  });

  test("an image, with the scan parameters of some phones: the same files as without", async () => {
    const jpeg = await photo().resize(600).jpeg().toBuffer();
    const [plain, odd] = [await measure(Buffer.from(jpeg)), await measure(oddScans(jpeg))];
    expect(odd.report).toEqual(plain.report);
    expect(odd.files?.normalized).toEqual(plain.files?.normalized as Buffer);
  });
});

test("a picture, damaged: refused; a network address: not reachable", async () => {
  await expect(decode(portrait.subarray(0, portrait.length / 2))).rejects.toThrow();
  await expect(fetch("https://www.example.com/")).rejects.toThrow("There is no network");
});
