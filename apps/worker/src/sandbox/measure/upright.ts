/** Turns a picture upright by its face. */
import type { Turn } from "../report.ts";
import type { Face, FindFaces, Picture } from "./faces.ts";
import { countedFaces, faceConfidence, faceRoll, type Size } from "./measure.ts";

/** The faces of a picture after a turn, the most confident first. */
export type Turned = { turn: Turn; faces: Face[]; picture: Picture };

/** A face that is tilted further is upright after another turn. */
const MAX_ROLL = 45;
/**
 * The networks have the highest confidence for upright faces. Other turns of the photographs of the calibration have at
 * most 0.83.
 */
const SURELY_UPRIGHT = 0.86;
/** A face that only another turn shows counts from this confidence on. Pictures without faces have at most 0.41. */
const MIN_CONFIDENCE = 0.6;
/** By how much the confidence of another turn must exceed that of the unturned picture. */
const MARGIN = 0.05;

/** The sources of the pixels of a turned picture: the first one, and the steps to the next one and to the next line. */
const stepsOf = ({ width, height }: Size, turn: Exclude<Turn, 0>): [first: number, step: number, line: number] => {
  const last = width * height - 1;
  if (turn === 180) return [last, -1, -width];
  return turn === 90 ? [last - width + 1, -width, 1] : [width - 1, width, -1];
};

/** Turns a picture. sharp is not used, because its threads would need memory that other turns need. */
export const turnPicture = (picture: Picture, turn: Turn): Picture => {
  if (turn === 0) return picture;
  const [width, height] = turn === 180 ? [picture.width, picture.height] : [picture.height, picture.width];
  const [first, step, line] = stepsOf(picture, turn);
  const data = new Uint8Array(picture.data.length);
  for (let y = 0, to = 0; y < height; y += 1) {
    for (let x = 0, from = 3 * (first + y * line); x < width; x += 1, to += 3, from += 3 * step) {
      data[to] = picture.data[from] ?? 0;
      data[to + 1] = picture.data[from + 1] ?? 0;
      data[to + 2] = picture.data[from + 2] ?? 0;
    }
  }
  return { data, width, height };
};

/** The confidence of the most confident face if it is upright; 0 otherwise. */
const uprightConfidence = ({ faces: [face] }: Turned): number =>
  face && Math.abs(faceRoll(face)) <= MAX_ROLL ? faceConfidence(face) : 0;

/**
 * The turn after which the most confident face of a picture is upright, and the faces after that turn. No turn when no
 * face is confident. A face that is upside down can be found as an upright one, but has a higher confidence after the
 * turn. So each turn is tried, unless the face is surely upright.
 */
export const searchUpright = async (findFaces: FindFaces, picture: Picture): Promise<Turned> => {
  const search = async (turn: Turn): Promise<Turned> => {
    const turned = turnPicture(picture, turn);
    return { turn, faces: countedFaces(await findFaces(turned)), picture: turned };
  };
  const original = await search(0);
  let best = original;
  let least = Math.max(MIN_CONFIDENCE, uprightConfidence(original) + MARGIN);
  if (uprightConfidence(original) >= SURELY_UPRIGHT) return original;
  for (const turn of [180, 90, 270] as const) {
    const turned = await search(turn);
    const confidence = uprightConfidence(turned);
    if (confidence >= least) [best, least] = [turned, confidence];
  }
  return best;
};
