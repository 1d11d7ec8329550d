/// <reference path="../apps/worker/src/sandbox/measure/assets.d.ts" />
/**
 * bun scripts/draw-speaking.ts [docs/images/speaking.webp]
 *
 * Draws the moving picture of the README: the sample photo says a sentence, as a call and a video show it, with the words below.
 */
import { portraitPath } from "@realtime-avatar/testing/photos";
import sharp from "sharp";
import { createMarks } from "../packages/face/src/marks.ts";
import { PICTURE_SIZE, planesFrom } from "../packages/face/src/picture.ts";
import { createSpeaker } from "../packages/face/src/speaker.ts";
import { FLITE_SETTINGS } from "../packages/speech/src/settings.ts";
import { collectSpeech, speak as speakText } from "../packages/speech/src/speak.ts";
import { defaultVoice } from "../packages/speech/src/voices.ts";
import { openPhoto, PICTURE_MS, SAMPLE_RATE, speak } from "./speak.ts";

export const WORDS = "Hello! I am a photo. One request made me speak.".split(" ");
/** The path of the picture in the repository. */
export const PICTURE = "docs/images/speaking.webp";
/** Silence around the sentence, as a pause in the loop. */
const [BEFORE_MS, AFTER_MS] = [200, 900];
/** Width and height of the face, and the height of the caption below it, in pixels. */
const [FACE, CAPTION] = [440, 56];
const QUALITY = 75;
/** A sample below this is silence. */
const QUIET = 500;
export const MAX_BYTES = 1_500_000;

const say = (words: readonly string[]): Promise<Int16Array> =>
  collectSpeech(speakText(words.join(" "), defaultVoice(FLITE_SETTINGS), FLITE_SETTINGS));

/** The end of the last sound of a speech, in ms. */
const endOf = (speech: Int16Array): number =>
  (1000 * speech.findLastIndex((sample) => Math.abs(sample) > QUIET)) / SAMPLE_RATE;

/** The start of each word, in ms: the end of the speech of only the words before it. */
const beginnings = async (): Promise<number[]> => {
  const ends = await Promise.all(WORDS.map(async (_, at) => (at === 0 ? 0 : endOf(await say(WORDS.slice(0, at))))));
  return ends.map((end) => BEFORE_MS + end);
};

const padded = (speech: Int16Array): Int16Array => {
  const before = (BEFORE_MS * SAMPLE_RATE) / 1000;
  const sound = new Int16Array(before + speech.length + (AFTER_MS * SAMPLE_RATE) / 1000);
  sound.set(speech, before);
  return sound;
};

/** An I420 picture as three bytes per pixel: red, green and blue. */
const toRgb = (picture: Uint8Array): Uint8Array => {
  const { y, u, v } = planesFrom(picture);
  const rgb = new Uint8ClampedArray(3 * y.length);
  for (let pixel = 0; pixel < y.length; pixel++) {
    const [row, column] = [Math.floor(pixel / PICTURE_SIZE), pixel % PICTURE_SIZE];
    const colour = (row >> 1) * (PICTURE_SIZE >> 1) + (column >> 1);
    const light = 1.164 * ((y[pixel] as number) - 16);
    const [blue, red] = [(u[colour] as number) - 128, (v[colour] as number) - 128];
    rgb[3 * pixel] = light + 1.596 * red;
    rgb[3 * pixel + 1] = light - 0.392 * blue - 0.813 * red;
    rgb[3 * pixel + 2] = light + 2.017 * blue;
  }
  return new Uint8Array(rgb.buffer);
};

/** The caption: spoken words are bright. */
const captionSvg = (said: number): Buffer => {
  // The renderer drops spaces at the end of a part.
  const parts = WORDS.map((word, at) => {
    const [colour, space] = [at < said ? "#ffffff" : "#6b7484", at === 0 ? 0 : 5];
    return `<tspan dx="${space}" fill="${colour}">${word}</tspan>`;
  });
  const text = `<text x="50%" y="34" text-anchor="middle" font-family="sans-serif" font-size="16">${parts.join("")}</text>`;
  const size = `width="${FACE}" height="${CAPTION}"`;
  return Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect ${size} fill="#161920"/>${text}</svg>`);
};

const drawFrame = async (picture: Uint8Array, caption: Buffer): Promise<Buffer> =>
  sharp(toRgb(picture), { raw: { width: PICTURE_SIZE, height: PICTURE_SIZE, channels: 3 } })
    .resize(FACE, FACE, { kernel: "lanczos3" })
    .extend({ bottom: CAPTION, background: "#161920" })
    .composite([{ input: caption, left: 0, top: FACE }])
    .removeAlpha()
    .raw()
    .toBuffer();

const drawSpeaking = async (): Promise<Buffer> => {
  const [times, sound] = await Promise.all([beginnings(), say(WORDS).then(padded)]);
  const drawMarks = createMarks({ label: "AI", isTest: false });
  const captions = await Promise.all(
    Array.from({ length: WORDS.length + 1 }, (_, said) => sharp(captionSvg(said)).png().toBuffer()),
  );
  const frames: Buffer[] = [];
  for (const picture of speak(createSpeaker(await openPhoto(portraitPath()), { seed: 1 }), sound)) {
    const nowMs = frames.length * PICTURE_MS;
    drawMarks(picture);
    const said = times.filter((time) => time <= nowMs).length;
    frames.push(await drawFrame(picture, captions[said] as Buffer));
  }
  const height = FACE + CAPTION;
  return sharp(Buffer.concat(frames), {
    raw: { width: FACE, height: height * frames.length, channels: 3, pageHeight: height },
  })
    .webp({ quality: QUALITY, effort: 6, loop: 0, delay: frames.map(() => PICTURE_MS) })
    .toBuffer();
};

if (import.meta.main) {
  const path = process.argv[2] ?? PICTURE;
  const webp = await drawSpeaking();
  if (webp.length > MAX_BYTES) throw new Error(`The picture has ${webp.length} bytes: more than ${MAX_BYTES}.`);
  await Bun.write(path, webp);
  process.stdout.write(`${path}: ${webp.length} bytes\n`);
  process.exit(0);
}
