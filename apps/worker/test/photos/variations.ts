/**
 * Variations of photographs, each with the verdict that every check should have. The verdicts follow from the content
 * of the photograph and the effect of the variation. They were written down before the first measurement. A check
 * without a clear verdict is omitted: its result counts neither as a hit nor as a miss.
 */
import { readFile } from "node:fs/promises";
import type { CheckCode, Verdict } from "@realtime-avatar/domain/avatars/checks";
import { type Photo, photoName, photoPath } from "@realtime-avatar/testing/photos";
import sharp from "sharp";
import {
  addNoise,
  blur,
  coarsen,
  cover,
  cut,
  expose,
  frame,
  open,
  type Part,
  type Pixels,
  pair,
  pattern,
  readPixels,
  rotate,
  scale,
  smear,
} from "./pixels.ts";

/** The checks whose bounds these photographs calibrate or test. The other checks count exactly. */
export const FACE_CODES = [
  "face_count",
  "face_confidence",
  "face_size",
  "face_yaw",
  "face_pitch",
  "cropped",
  "sharpness",
  "brightness",
] as const satisfies readonly CheckCode[];
export type FaceCode = (typeof FACE_CODES)[number];

export type Expected = Partial<Record<FaceCode, Verdict>>;

export type Variation = {
  photo: string;
  /** The purpose of the variation. */
  group: string;
  name: string;
  expected: Expected;
  /** Whether the picture should make an avatar; null without a clear verdict. */
  isGood: boolean | null;
  /** An encoded image. */
  make: () => Promise<Buffer>;
};

/** The visible face, from the hairline to the chin, in percent of the sides. */
const FACES: Readonly<Record<string, readonly [left: number, top: number, right: number, bottom: number]>> = {
  "material-kit/faces/marc.jpg": [29, 25, 71, 74],
  "material-kit/faces/christian.jpg": [39, 24, 70, 66],
  "material-dashboard/team-1.jpg": [27, 22, 72, 86],
  "material-dashboard/team-3.jpg": [32, 22, 73, 76],
  "material-dashboard/marie.jpg": [41, 28, 76, 81],
  "soft-ui-dashboard/ivana-square.jpg": [28, 36, 52, 71],
  "material-dashboard/team-4.jpg": [29, 25, 72, 72],
  "material-dashboard/team-5.jpg": [28, 19, 61, 56],
  "material-dashboard/ivana-square.jpg": [42, 28, 73, 66],
  "material-dashboard/ivana-squares.jpg": [33, 27, 64, 76],
  "soft-ui-dashboard/kal-visuals-square.jpg": [38, 22, 68, 65],
  "soft-ui-dashboard/team-1.jpg": [39, 32, 61, 57],
};

export const faceArea = (photo: Photo): Part => {
  const found = FACES[photoName(photo)];
  if (!found) throw new Error(`The face of ${photoName(photo)} is not written down.`);
  const [left, top, right, bottom] = found;
  return { left: left / 100, top: top / 100, right: right / 100, bottom: bottom / 100 };
};

const BASE_SIDE = 1024;
const based = new Map<Photo, Promise<Pixels>>();
/** The pixels from which all variations of a photograph are made. */
export const basePixels = (photo: Photo): Promise<Pixels> => {
  const make = async () => scale(await readPixels(sharp(await readFile(photoPath(photo)))), BASE_SIDE);
  const pixels = based.get(photo) ?? make();
  based.set(photo, pixels);
  return pixels;
};

const jpeg = (quality: number) => async (pixels: Pixels | Promise<Pixels>) =>
  open(await pixels)
    .jpeg({ quality })
    .toBuffer();
const encode = jpeg(92);

const ALL_PASS: Expected = {
  face_count: "pass",
  face_confidence: "pass",
  face_yaw: "pass",
  face_pitch: "pass",
  cropped: "pass",
  sharpness: "pass",
  brightness: "pass",
};

/** `share`: the height of the face in percent of the picture. Within a tenth of a bound, the verdict is open. */
const sizeVerdict = (share: number): Expected => {
  if (share < 13.5) return { face_size: "fail" };
  if (share > 33) return { face_size: "pass" };
  return share > 16.5 && share < 27 ? { face_size: "warn" } : {};
};

const without = (expected: Expected, ...codes: readonly FaceCode[]): Expected =>
  Object.fromEntries(Object.entries(expected).filter(([code]) => !(codes as readonly string[]).includes(code)));

type Draft = Pick<Variation, "group" | "name" | "expected" | "isGood"> & { pixels: () => Promise<Pixels> | Pixels };
type Front = { pixels: Pixels; face: Part; height: number; good: Expected };

const draft = (
  group: string,
  name: string,
  expected: Expected,
  isGood: boolean | null,
  pixels: Draft["pixels"],
): Draft => ({ group, name, expected, isGood, pixels });

/** Variations that do not affect an avatar. */
const harmless = ({ pixels, good }: Front): Draft[] => [
  draft("harmless", "as it is", good, true, () => pixels),
  draft("harmless", "mirrored", good, true, () => readPixels(open(pixels).flop())),
  draft("harmless", "grey", good, true, () => readPixels(open(pixels).greyscale())),
  draft("harmless", "tilted 10°", without(good, "face_size"), true, () => rotate(pixels, 10)),
  draft("harmless", "tilted -20°", without(good, "face_size"), true, () => rotate(pixels, -20)),
  draft("harmless", "noise 6", good, true, () => addNoise(pixels, 6)),
  draft("harmless", "half a stop darker", good, true, () => expose(pixels, -0.5)),
  draft("harmless", "half a stop brighter", good, true, () => expose(pixels, 0.5)),
  draft("harmless", "blurred 0.3 %", good, true, () => blur(pixels, Math.max(0.3, 0.003 * 1024 * 0.45))),
];

/** Lengths are fractions of the height of the face, so that they mean the same in each photograph. */
const blurred = ({ pixels, height, good }: Front): Draft[] => {
  const unit = height * pixels.height;
  const bad: Expected = { ...without(good, "face_confidence"), sharpness: "fail" };
  const open = without(good, "sharpness");
  return [
    draft("blurred", "blurred 1 %", open, null, () => blur(pixels, 0.01 * unit)),
    draft("blurred", "blurred 2 %", bad, false, () => blur(pixels, 0.02 * unit)),
    draft("blurred", "blurred 3 %", bad, false, () => blur(pixels, 0.03 * unit)),
    draft("blurred", "blurred 5 %", bad, false, () => blur(pixels, 0.05 * unit)),
    draft("blurred", "moved 4 %", open, null, () => smear(pixels, Math.round(0.04 * unit))),
    draft("blurred", "moved 10 %", bad, false, () => smear(pixels, Math.round(0.1 * unit))),
    draft("blurred", "moved 10 % aslant", bad, false, async () => {
      const turned = await rotate(pixels, 45);
      const back = await rotate(await smear(turned, Math.round(0.1 * unit)), -45);
      const [part, rest] = [pixels.width / back.width, 0.5 * (1 - pixels.width / back.width)];
      return cut(back, { left: rest, top: rest, right: rest + part, bottom: rest + part });
    }),
    draft("blurred", "detail of 96 px", good, true, () => coarsen(pixels, 96 / unit)),
    draft("blurred", "detail of 64 px", open, null, () => coarsen(pixels, 64 / unit)),
    draft("blurred", "detail of 32 px", bad, false, () => coarsen(pixels, 32 / unit)),
    draft("blurred", "blurred 4 %, noise 6", bad, false, async () => addNoise(await blur(pixels, 0.04 * unit), 6)),
  ];
};

const lit = ({ pixels, good }: Front): Draft[] => {
  const bad: Expected = { ...without(good, "face_confidence", "sharpness", "face_count"), brightness: "fail" };
  const open = without(good, "brightness", "face_confidence");
  return [
    draft("light", "1 stop darker", good, true, () => expose(pixels, -1)),
    draft("light", "2 stops darker", open, null, () => expose(pixels, -2)),
    draft("light", "3 stops darker", bad, false, () => expose(pixels, -3)),
    draft("light", "4 stops darker", bad, false, () => expose(pixels, -4)),
    draft("light", "1 stop brighter", open, null, () => expose(pixels, 1)),
    draft("light", "2 stops brighter", bad, false, () => expose(pixels, 2)),
    draft("light", "3 stops brighter", bad, false, () => expose(pixels, 3)),
  ];
};

const sized = ({ pixels, face, height, good }: Front): Draft[] => {
  const shares = [8, 11, 20, 25, 40].filter((share) => share < 100 * height);
  const smaller = shares.map((share) => {
    const expected = { ...without(good, "face_size"), ...sizeVerdict(share) };
    const side = 1600;
    const isGood = share >= 15;
    const pixelsOfFace = (share / 100) * side;
    return draft(
      "size",
      `face of ${share} %`,
      share < 15 ? without(expected, "face_confidence", "sharpness") : expected,
      isGood,
      () => frame(pixels, Math.round(pixelsOfFace / height), side, "#8a8f98"),
    );
  });
  const share = 0.58;
  const side = height / share;
  const [x, y] = [(face.left + face.right) / 2, (face.top + face.bottom) / 2];
  const near: Part = { left: x - side / 2, top: y - side / 2, right: x + side / 2, bottom: y + side / 2 };
  const isInside = near.left >= 0 && near.top >= 0 && near.right <= 1 && near.bottom <= 1;
  if (!isInside) return smaller;
  const expected: Expected = { ...without(good, "cropped"), face_size: "pass" };
  return [...smaller, draft("size", "face of 58 %", expected, true, async () => scale(await cut(pixels, near), 1024))];
};

/** Cuts through the face. Fractions of its width and height. */
const cropped = ({ pixels, face, good }: Front): Draft[] => {
  const [width, height] = [face.right - face.left, face.bottom - face.top];
  const whole: Part = { left: 0, top: 0, right: 1, bottom: 1 };
  const bad: Expected = {
    ...without(good, "face_count", "face_confidence", "face_size", "face_yaw", "face_pitch"),
    cropped: "fail",
  };
  const open: Expected = { ...without(bad, "cropped"), face_count: "pass" };
  const near = without(open, "face_size");
  const parts: [string, Part, Expected, boolean | null][] = [
    ["top 15 % cut", { ...whole, top: face.top + 0.15 * height }, bad, false],
    ["top 30 % cut", { ...whole, top: face.top + 0.3 * height }, bad, false],
    ["chin 15 % cut", { ...whole, bottom: face.bottom - 0.15 * height }, bad, false],
    ["chin 30 % cut", { ...whole, bottom: face.bottom - 0.3 * height }, bad, false],
    ["left 25 % cut", { ...whole, left: face.left + 0.25 * width }, bad, false],
    ["right 25 % cut", { ...whole, right: face.right - 0.25 * width }, bad, false],
    ["left 45 % cut", { ...whole, left: face.left + 0.45 * width }, bad, false],
    ["right 45 % cut", { ...whole, right: face.right - 0.45 * width }, bad, false],
    ["chin at the edge", { ...whole, bottom: face.bottom + 0.02 * height }, near, null],
    ["hair cut", { ...whole, top: face.top - 0.05 * height }, near, null],
    ["chin 12 % from the edge", { ...whole, bottom: face.bottom + 0.12 * height }, without(good, "face_size"), true],
    ["cheek 20 % from the edge", { ...whole, left: face.left - 0.2 * height }, without(good, "face_size"), true],
  ];
  return parts.map(([name, part, expected, isGood]) =>
    draft("cropped", name, expected, isGood, async () => scale(await cut(pixels, part), 800)),
  );
};

const covered = ({ pixels, face, good }: Front): Draft[] => [
  draft("no face", "face covered", { face_count: "fail" }, false, () => cover(pixels, face, "#8b8580")),
  draft("covered", "mouth and nose covered", {}, null, () =>
    cover(pixels, { ...face, top: face.top + 0.5 * (face.bottom - face.top) }, "#e8e8f0"),
  ),
  draft("rotated", "lying", good, true, () => rotate(pixels, 90)),
  draft("rotated", "lying on the other side", good, true, () => rotate(pixels, 270)),
  draft("rotated", "upside down", good, true, () => rotate(pixels, 180)),
];

const ofFront = async (photo: Photo): Promise<Draft[]> => {
  const face = faceArea(photo);
  const height = face.bottom - face.top;
  const good = { ...ALL_PASS, ...sizeVerdict(100 * height) };
  const front: Front = { pixels: await basePixels(photo), face, height, good };
  return [harmless, blurred, lit, sized, cropped, covered].flatMap((group) => group(front));
};

/** Unchanged and mirrored photographs, all with one verdict. */
const ofOther = async (photo: Photo): Promise<Draft[]> => {
  const pixels = await basePixels(photo);
  const expected: Partial<Record<Photo["content"], [string, Expected, boolean | null]>> = {
    turned: ["turned", { face_yaw: "fail", brightness: "pass", sharpness: "pass" }, false],
    unclear: ["unclear", { face_count: "pass", sharpness: "pass", cropped: "pass" }, null],
    far: ["size", { face_size: "fail" }, false],
    several: ["several", { face_count: "fail" }, false],
    no_face: ["no face", { face_count: "fail" }, false],
  };
  const [group, verdicts, isGood] = expected[photo.content] ?? ["", {}, null];
  const drafts = [
    draft(group, "as it is", verdicts, isGood, () => pixels),
    draft(group, "mirrored", verdicts, isGood, () => readPixels(open(pixels).flop())),
  ];
  if (photo.content !== "no_face") return drafts;
  const quarters = [0, 0.5].flatMap((left) =>
    [0, 0.5].map((top) => ({ left, top, right: left + 0.5, bottom: top + 0.5 })),
  );
  for (const [index, part] of quarters.entries()) {
    drafts.push(
      draft(group, `quarter ${index + 1}`, verdicts, isGood, async () => scale(await cut(pixels, part), 800)),
    );
  }
  return drafts;
};

/** Two faces in one picture, of equal size, and one of half the size. */
const ofPairs = async (photos: readonly Photo[]): Promise<(Draft & { photo: string })[]> => {
  const fronts = await Promise.all(photos.map(async (photo) => ({ photo, pixels: await basePixels(photo) })));
  return fronts.flatMap(({ photo, pixels }, index) => {
    const other = fronts[(index + 1) % fronts.length];
    if (!other) return [];
    const expected: Expected = { face_count: "fail" };
    const name = photoName(photo);
    const make = (heights: readonly [number, number]) => () => pair(pixels, other.pixels, heights);
    return [
      { photo: name, ...draft("several", "beside another face", expected, false, make([900, 900])) },
      { photo: name, ...draft("several", "beside a face of half the size", expected, false, make([900, 450])) },
      { photo: name, ...draft("several", "beside a face of a fifth", {}, null, make([900, 180])) },
    ];
  });
};

/** All variations of photographs of one set, in a fixed order. */
export const createVariations = async (photos: readonly Photo[]): Promise<Variation[]> => {
  const single = photos.map(async (photo) => {
    const drafts = await (photo.content === "front" ? ofFront(photo) : ofOther(photo));
    return drafts.map((each) => ({ photo: photoName(photo), ...each }));
  });
  const pairs = ofPairs(photos.filter(({ content }) => content === "front"));
  const patterns = (["noise", "checkerboard", "gradient"] as const).map((kind) => ({
    photo: kind,
    ...draft("no face", "pattern", { face_count: "fail" }, false, () => pattern(kind, 800)),
  }));
  const drafts = [...(await Promise.all([...single, pairs])).flat(), ...patterns];
  return drafts.map(({ pixels, ...rest }) => ({ ...rest, make: async () => encode(pixels()) }));
};
