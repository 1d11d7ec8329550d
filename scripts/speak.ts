/// <reference path="../apps/worker/src/sandbox/measure/assets.d.ts" />
/**
 * bun run speak photo.jpg sound.wav film.mp4 [seed]
 *
 * Renders a film in which the face of a photo speaks a sound, as in a call. Needs ffmpeg.
 */
import { parseArgs } from "node:util";
import sharp from "sharp";
import { type FindFaces, type Face as FoundFace, loadFaces } from "../apps/worker/src/sandbox/measure/faces.ts";
import { PICTURE_SIZE, toI420 } from "../packages/face/src/picture.ts";
import { createSpeaker, type Speaker } from "../packages/face/src/speaker.ts";
import { type Face, openFace } from "../packages/face/src/warp/face.ts";

export const SAMPLE_RATE = 48_000;
/** Samples of a piece of 20 ms. */
const PIECE = 960;
export const PICTURE_MS = 40;
/** How long before it is heard a call knows a sound. */
const LEAD_MS = 240;
/** The height of the face, and the position of its top, as shares of the height of the picture. */
const FACE_HEIGHT = 0.42;
const FACE_TOP = 0.3;

type Region = { left: number; top: number; width: number; height: number };

/** A square of a photo, as RGB of 512 × 512 pixels. Without a region: the largest square in the middle. */
const readPhoto = async (path: string, region?: Region): Promise<Uint8Array> => {
  const upright = sharp(await sharp(path).rotate().toBuffer());
  const cut = region ? upright.extract(region) : upright;
  const square = cut.resize(PICTURE_SIZE, PICTURE_SIZE, { fit: "cover", kernel: "lanczos3" });
  return new Uint8Array(await square.removeAlpha().toColourspace("srgb").raw().toBuffer());
};

const findOne = async (find: FindFaces, data: Uint8Array): Promise<FoundFace> => {
  const faces = await find({ data, width: PICTURE_SIZE, height: PICTURE_SIZE });
  const [face] = faces.sort((a, b) => b.detectorConfidence - a.detectorConfidence);
  if (!face) throw new Error("The photo shows no face.");
  return face;
};

/** The square of a photo in which a face, found in its middle square, has the size and the place of `FACE`. */
const findRegion = async (path: string, { mesh }: FoundFace): Promise<Region> => {
  const { width, height } = await sharp(await sharp(path).rotate().toBuffer()).metadata();
  const square = Math.min(width, height);
  const scale = square / PICTURE_SIZE;
  const xs = mesh.map(([x]) => x * scale + (width - square) / 2);
  const ys = mesh.map(([, y]) => y * scale + (height - square) / 2);
  const top = Math.min(...ys);
  const side = Math.min(square, Math.round((Math.max(...ys) - top) / FACE_HEIGHT));
  const inside = (value: number, length: number): number => Math.round(Math.min(length - side, Math.max(0, value)));
  return {
    left: inside((Math.min(...xs) + Math.max(...xs) - side) / 2, width),
    top: inside(top - FACE_TOP * side, height),
    width: side,
    height: side,
  };
};

/** Opens the face of a photo. */
export const openPhoto = async (path: string): Promise<Face> => {
  // The library of the finder replaces `fetch` and the console.
  const find = await (await loadFaces()).start();
  const region = await findRegion(path, await findOne(find, await readPhoto(path)));
  const rgb = await readPhoto(path, region);
  const { mesh } = await findOne(find, rgb);
  return openFace(toI420(rgb), Float32Array.from(mesh.flat()));
};

/** Reads a sound of any format as 16-bit PCM of 48 kHz, mono. */
export const readSound = async (path: string): Promise<Int16Array> => {
  const format = ["-ar", String(SAMPLE_RATE), "-ac", "1", "-f", "s16le", "-"];
  const child = Bun.spawn(["ffmpeg", "-v", "error", "-i", path, ...format], { stdout: "pipe", stderr: "inherit" });
  const bytes = await new Response(child.stdout).arrayBuffer();
  if ((await child.exited) !== 0) throw new Error(`ffmpeg cannot read ${path}.`);
  return new Int16Array(bytes, 0, bytes.byteLength >> 1);
};

/** The pictures of a sound, 25 a second. */
export const speak = function* (speaker: Speaker, sound: Int16Array): Generator<Uint8Array> {
  const lengthMs = (1000 * sound.length) / SAMPLE_RATE;
  let heard = 0;
  for (let nowMs = 0; nowMs < lengthMs; nowMs += PICTURE_MS) {
    while (heard < sound.length && (1000 * heard) / SAMPLE_RATE < nowMs + LEAD_MS) {
      speaker.hear(sound.subarray(heard, heard + PIECE), (1000 * heard) / SAMPLE_RATE - nowMs, nowMs);
      heard += PIECE;
    }
    yield speaker.picture(nowMs);
  }
};

const writeFilm = async (pictures: Iterable<Uint8Array>, sound: string, film: string): Promise<void> => {
  const size = `${PICTURE_SIZE}x${PICTURE_SIZE}`;
  const video = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", size, "-r", String(1000 / PICTURE_MS), "-i", "-"];
  const format = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "17", "-pix_fmt", "yuv420p", "-c:a", "aac"];
  const child = Bun.spawn(
    ["ffmpeg", "-v", "error", "-y", ...video, "-i", sound, "-map", "0:v", "-map", "1:a", ...format, film],
    { stdin: "pipe", stderr: "inherit" },
  );
  for (const picture of pictures) {
    child.stdin.write(picture);
    await child.stdin.flush();
  }
  await child.stdin.end();
  if ((await child.exited) !== 0) throw new Error(`ffmpeg cannot write ${film}.`);
};

if (import.meta.main) {
  const { positionals } = parseArgs({ allowPositionals: true });
  const [photo, sound, film, seed = "1"] = positionals;
  if (!photo || !sound || !film) throw new Error("Usage: bun run speak photo.jpg sound.wav film.mp4 [seed]");
  const face = await openPhoto(photo);
  await writeFilm(speak(createSpeaker(face, { seed: Number(seed) }), await readSound(sound)), sound, film);
  process.exit(0);
}
