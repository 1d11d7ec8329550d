/**
 * How much less and how much more light each face may have before the check of the brightness refuses it, in stops (one
 * stop is twice the light): `bun apps/worker/test/photos/light.ts`. Darker skin leaves less room below; the output
 * shows how much.
 */
import { PHOTOS, type Photo, photoName } from "@realtime-avatar/testing/photos";
import { measureAll } from "./measured.ts";
import { expose, open, type Pixels } from "./pixels.ts";
import { basePixels, type Variation } from "./variations.ts";

const STEPS = [-3, -2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2];

const exposed = (photo: Photo, pixels: Pixels, stops: number): Variation => ({
  photo: photoName(photo),
  group: "light",
  name: String(stops),
  expected: {},
  isGood: null,
  make: () => open(expose(pixels, stops)).jpeg({ quality: 92 }).toBuffer(),
});

const photos = PHOTOS.filter(({ content }) => content === "front" || content === "unclear");
const variations = await Promise.all(
  photos.map(async (photo) => {
    const pixels = await basePixels(photo);
    return STEPS.map((stops) => exposed(photo, pixels, stops));
  }),
);
const measured = await measureAll(variations.flat());
const rows = photos.map((photo) => {
  const own = measured.filter((each) => each.photo === photoName(photo));
  const passes = own.filter(({ checks }) => checks.brightness && checks.brightness.verdict !== "fail");
  const stops = passes.map(({ name }) => Number(name));
  const asItIs = own.find(({ name }) => name === "0")?.checks.brightness?.measured ?? Number.NaN;
  const cells = [`\`${photoName(photo)}\``, photo.shows, asItIs, Math.min(...stops), `+${Math.max(...stops)}`];
  return { asItIs, line: `| ${cells.join(" | ")} |` };
});
for (const { line } of rows.sort((a, b) => a.asItIs - b.asItIs)) process.stdout.write(`${line}\n`);
