/** Two seconds of a moving face, as a loop without sound: it says "hello", blinks and breathes. */
import { lidAt } from "./life/blinks.ts";
import { poseMouth, REACH_STEPS } from "./life/mouth.ts";
import { createMarks } from "./marks.ts";
import { smoothstep } from "./numbers.ts";
import { PICTURE_SIZE, planesFrom } from "./picture.ts";
import { shapesAround } from "./shape-at.ts";
import { createShapeTrack, mixShapes, type ShapeTrack, SILENT } from "./shape-track.ts";
import { SHAPE_STEP_MS, type Shape } from "./visemes.ts";
import { drawFace, type Face } from "./warp/face.ts";
import { type Pose, REST } from "./warp/pose.ts";

export const PREVIEW_SECONDS = 2;
export const PREVIEW_PICTURES_PER_SECOND = 20;
/** Width and height of a picture of the preview, in pixels: those of a plane of colour. */
export const PREVIEW_SIZE = PICTURE_SIZE / 2;

/** The sounds of the word, each with its time in seconds. */
const WORD: readonly (readonly [seconds: number, shape: Shape])[] = [
  [0.3, SILENT],
  [0.38, { ...SILENT, open: 0.35, closed: 0, level: -0.8 }],
  [0.5, { ...SILENT, open: 0.55, wide: 0.45, closed: 0, level: 0 }],
  [0.6, { ...SILENT, open: 0.35, wide: 0.3, closed: 0, tongue: 0.9, level: -0.3 }],
  [0.74, { ...SILENT, open: 0.6, round: 0.45, closed: 0, level: 0 }],
  [0.92, { ...SILENT, open: 0.25, round: 0.9, closed: 0, level: -0.5 }],
  [1.1, SILENT],
];
/** The mouth begins to move before the word, and ends after it. */
const TALK = [0.12, 0.28, 1.15, 1.5] as const;
const BLINK_AT = 1.45;
/** The extent of the head's movement, as angles in radians. */
const [YAW, PITCH, ROLL] = [0.025, 0.018, 0.012];

const trackWord = (): ShapeTrack => {
  const track = createShapeTrack();
  for (let ms = 0; ms < 1000 * PREVIEW_SECONDS; ms += SHAPE_STEP_MS) {
    const next = WORD.findIndex(([seconds]) => 1000 * seconds > ms);
    const [from, to] = [WORD[next - 1], WORD[next]];
    const share = from && to ? (ms / 1000 - from[0]) / (to[0] - from[0]) : 0;
    track.add(ms, from && to ? mixShapes(from[1], to[1], share) : SILENT);
  }
  return track;
};

/** The pose at a time in seconds. The head and the breath end where they began. */
const poseAt = (seconds: number, { lips }: Face, track: ShapeTrack): Pose => {
  const talk = smoothstep(TALK[0], TALK[1], seconds) * (1 - smoothstep(TALK[2], TALK[3], seconds));
  const mouth = poseMouth(shapesAround(track, 1000 * seconds, REACH_STEPS), lips);
  const blink = seconds < BLINK_AT ? 0 : lidAt(seconds - BLINK_AT);
  const turn = (2 * Math.PI * seconds) / PREVIEW_SECONDS;
  const spoken = Object.fromEntries(Object.entries(mouth).map(([name, value]) => [name, talk * value]));
  return {
    ...REST,
    ...spoken,
    gap: mouth.gap,
    blinkLeft: blink,
    blinkRight: blink,
    brow: 0.6 * talk,
    yaw: YAW * Math.sin(turn),
    pitch: PITCH * Math.sin(turn + 1) - PITCH * Math.sin(1),
    roll: ROLL * Math.sin(turn),
    breath: Math.sin(turn),
    talk,
  };
};

/** Half of an I420 picture in both directions, three bytes per pixel: red, green and blue. The reverse of `toI420`. */
const toSmallRgb = (picture: Uint8Array): Uint8Array => {
  const { y, u, v } = planesFrom(picture);
  const rgb = new Uint8ClampedArray(3 * PREVIEW_SIZE ** 2);
  for (let pixel = 0; pixel < u.length; pixel++) {
    const first = 2 * Math.floor(pixel / PREVIEW_SIZE) * PICTURE_SIZE + 2 * (pixel % PREVIEW_SIZE);
    const below = first + PICTURE_SIZE;
    // Without arrays, because an array for each pixel takes twice as long.
    const luma = (y[first] as number) + (y[first + 1] as number) + (y[below] as number) + (y[below + 1] as number);
    const light = 1.164 * (luma / 4 - 16);
    const blue = (u[pixel] as number) - 128;
    const red = (v[pixel] as number) - 128;
    rgb[3 * pixel] = light + 1.596 * red;
    rgb[3 * pixel + 1] = light - 0.392 * blue - 0.813 * red;
    rgb[3 * pixel + 2] = light + 2.017 * blue;
  }
  return new Uint8Array(rgb.buffer);
};

/** The pictures of the preview, in RGB of `PREVIEW_SIZE` × `PREVIEW_SIZE` pixels. `label`: see `createMarks`. */
export const drawPreview = (face: Face, label: string): Uint8Array[] => {
  const track = trackWord();
  const drawMarks = createMarks({ label, isTest: false });
  return Array.from({ length: PREVIEW_SECONDS * PREVIEW_PICTURES_PER_SECOND }, (_, index) => {
    const picture = drawFace(face, poseAt(index / PREVIEW_PICTURES_PER_SECOND, face, track));
    drawMarks(picture);
    return toSmallRgb(picture);
  });
};
