/** Hostile files for the search for faces: shapes and contents that a network or a scaler must survive. */
import { readFile } from "node:fs/promises";
import { portraitPath } from "@realtime-avatar/testing/photos";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import sharp from "sharp";
import type { HostileFile } from "../sandbox/corpus/hostile.testing.ts";
import { rawPng } from "../sandbox/corpus/images.testing.ts";

/** Copies of the portrait, each `side` pixels wide, over a picture of this size. */
const manyFaces = async (width: number, height: number, side: number): Promise<Buffer> => {
  const tile = await sharp(await readFile(portraitPath()))
    .resize(side, side)
    .toBuffer();
  return sharp({ create: { width, height, channels: 3, background: "#888" } })
    .composite([{ input: tile, tile: true }])
    .jpeg({ quality: 80 })
    .toBuffer();
};

const noise = (width: number, height: number): Promise<Buffer> =>
  sharp(seededBytes("noise")(width * height * 3), { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 95 })
    .toBuffer();

/** The files. None of them has exactly one usable face. */
export const hostilePortraits = (): HostileFile[] =>
  Object.entries({
    "1x65500.png": () => rawPng({ width: 1, height: 65_500 }),
    "65500x1.png": () => rawPng({ width: 65_500, height: 1 }),
    "1x1.png": () => rawPng({ width: 1, height: 1 }),
    "3x3.png": () => rawPng({ width: 3, height: 3, color: 6 }),
    "16000x2500.png": () => rawPng({ width: 16_000, height: 2500, color: 2 }),
    "noise.jpg": () => noise(1500, 1500),
    "1000-faces.jpg": () => manyFaces(2560, 1600, 64),
    "40-megapixels-of-faces.jpg": () => manyFaces(8000, 5000, 1000),
    "transparent.png": () => rawPng({ width: 800, height: 800, color: 6 }),
  }).map(([name, bytes]) => ({ name, bytes, expected: "any" }));
