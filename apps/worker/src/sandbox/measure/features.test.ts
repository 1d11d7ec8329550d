/** The measures of eyes and mouths, on unchanged photographs and on those with a covered face. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFile } from "node:fs/promises";
import { PHOTOS, photoName, photoPath } from "@realtime-avatar/testing/photos";
import sharp, { type OverlayOptions } from "sharp";
import { faceChecks } from "../../preparation/checks.ts";
import { type FindFaces, loadFaces, type Picture, type Point } from "./faces.ts";
import { eyeContrast, mouthContrast } from "./features.ts";

// Tests do not assert times, and a slow machine must not fail one.
setDefaultTimeout(120_000);

const SIDE = 512;
const NAMES = [
  "material-kit/faces/marc.jpg",
  "material-dashboard/team-1.jpg",
  "soft-ui-dashboard/kal-visuals-square.jpg",
];
const photos = PHOTOS.filter((photo) => NAMES.includes(photoName(photo)));

const [fetchBefore, consoleBefore] = [globalThis.fetch, { ...globalThis.console }];
let findFaces: FindFaces;
beforeAll(async () => {
  findFaces = await (await loadFaces()).start();
});
afterAll(() => {
  globalThis.fetch = fetchBefore;
  Object.assign(globalThis.console, consoleBefore);
});

const pictureOf = async (bytes: Buffer, cover: OverlayOptions[] = []): Promise<Picture> => {
  const image = await sharp(bytes).resize(SIDE, SIDE).png().toBuffer();
  return { data: await sharp(image).composite(cover).removeAlpha().raw().toBuffer(), width: SIDE, height: SIDE };
};
const meshIn = async (picture: Picture): Promise<readonly Point[]> => (await findFaces(picture))[0]?.mesh ?? [];

const ellipse = ([x, y]: Point, radius: number, color: string): OverlayOptions => ({
  input: Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${SIDE}" height="${SIDE}"><ellipse cx="${x}" cy="${y}" rx="${radius}" ry="${0.7 * radius}" fill="${color}"/></svg>`,
  ),
});
const middle = (mesh: readonly Point[], ...indices: number[]): Point => {
  const points = indices.map((index) => mesh[index] ?? [0, 0, 0]);
  const mean = (axis: 0 | 1): number => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  return [mean(0), mean(1), 0];
};
/** A piece of the cheek of a picture, moved to another place like a hand. */
const skinAt = async (picture: Picture, mesh: readonly Point[], [x, y]: Point, width: number, height: number) => {
  const [cx, cy] = mesh[205] ?? [0, 0];
  const input = await sharp(picture.data, { raw: { width: SIDE, height: SIDE, channels: 3 } })
    .extract({ left: Math.round(cx) - 12, top: Math.round(cy) - 12, width: 24, height: 24 })
    .resize(Math.round(width), Math.round(height), { fit: "fill" })
    .png()
    .toBuffer();
  return [{ input, left: Math.round(x - width / 2), top: Math.round(y - height / 2) }];
};

/** The verdicts of the check of the confidence about the eyes and the mouth. */
const verdicts = async (picture: Picture) => {
  const mesh = await meshIn(picture);
  const face = {
    confidence: 90,
    size: 45,
    yaw: 0,
    pitch: 0,
    edgeDistance: 60,
    roll: 0,
    sharpness: 20,
    brightness: 50,
    mesh: "",
    square: { left: 0, top: 0, width: 1, height: 1 },
  };
  const contrasts = { eyes: Math.round(eyeContrast(picture, mesh)), mouth: Math.round(mouthContrast(picture, mesh)) };
  const report = {
    kind: "accepted",
    width: 800,
    height: 800,
    turned: 0,
    faces: 1,
    face: { ...face, ...contrasts },
  } as const;
  const check = faceChecks("image", report).find(({ code }) => code === "face_confidence");
  const said = ["An eye has a contrast", "The mouth has a contrast"].map(
    (text) => check?.detail.includes(text) === true,
  );
  expect(check?.verdict).toBe(said.includes(true) ? "warn" : "pass");
  return said.map((isSaid) => (isSaid ? "warn" : "pass"));
};

describe.each(photos.map((photo) => [photoName(photo), photo] as const))("a face of %s", (_, photo) => {
  let bytes: Buffer;
  let picture: Picture;
  let mesh: readonly Point[];
  let unit: number;
  beforeAll(async () => {
    bytes = await readFile(photoPath(photo));
    picture = await pictureOf(bytes);
    mesh = await meshIn(picture);
    const [right, left] = [mesh[33] ?? [0, 0, 0], mesh[263] ?? [0, 0, 0]];
    unit = Math.hypot(right[0] - left[0], right[1] - left[1]);
  });

  test("an unchanged face: eyes and mouth are visible", async () => {
    expect(await verdicts(picture)).toEqual(["pass", "pass"]);
  });

  test("a face, with sunglasses or a covered eye: a warning only about the eyes", async () => {
    const [right, left] = [middle(mesh, 33, 133), middle(mesh, 362, 263)];
    const glasses = [ellipse(right, 0.3 * unit, "#151515"), ellipse(left, 0.3 * unit, "#151515")];
    expect(await verdicts(await pictureOf(bytes, glasses))).toEqual(["warn", "pass"]);
    const covered = await skinAt(picture, mesh, right, 0.55 * unit, 0.3 * unit);
    expect(await verdicts(await pictureOf(bytes, covered))).toEqual(["warn", "pass"]);
  });

  test("a face, with skin or a mask before the mouth: a warning only about the mouth", async () => {
    const mouth = middle(mesh, 0, 17);
    const covered = await skinAt(picture, mesh, mouth, 0.8 * unit, 0.5 * unit);
    expect(await verdicts(await pictureOf(bytes, covered))).toEqual(["pass", "warn"]);
    const mask = [ellipse(mouth, 0.6 * unit, "#9fc4d8")];
    expect(await verdicts(await pictureOf(bytes, mask))).toEqual(["pass", "warn"]);
  });
});

test("a mesh without points: no error", () => {
  const grey = { data: new Uint8Array(3 * 4), width: 2, height: 2 };
  expect([eyeContrast(grey, []), mouthContrast(grey, [])]).toEqual([0, 0]);
});
