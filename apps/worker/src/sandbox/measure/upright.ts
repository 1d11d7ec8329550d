/** Turns a picture upright by its face. */
import type { Turn } from "../report.ts";
import type { Face, FindFaces, Picture } from "./faces.ts";
import { countedFaces, faceConfidence, faceRoll, type Size } from "./measure.ts";

/** The faces of a picture after a turn, the surest first. */
export type Turned = { turn: Turn; faces: Face[]; picture: Picture };

/** A face that is tilted further is upright after another turn. */
const MAX_ROLL = 45;
/** The networks know upright faces best. The other turns of the photographs of the calibration have 0.83 at most. */
const SURELY_UPRIGHT = 0.86;
/** Below it, a face that only another turn shows is none: in pictures without faces, 0.41 at most was measured. */
const MIN_CONFIDENCE = 0.6;
/** By how much surer another turn must be than the picture as it is. */
const MARGIN = 0.05;

/** Where the pixels of a turned picture come from: the first of them, and the steps to the next one and to the next line. */
const stepsOf = ({ width, height }: Size, turn: Exclude<Turn, 0>): [first: number, step: number, line: number] => {
  const last = width * height - 1;
  if (turn === 180) return [last, -1, -width];
  return turn === 90 ? [last - width + 1, -width, 1] : [width - 1, width, -1];
};

/** Turns a picture. Not by sharp: its threads would need memory that the limit of the child leaves to the others. */
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

/** The confidence of the surest face, where that is upright; 0 otherwise. */
const uprightConfidence = ({ faces: [face] }: Turned): number =>
  face && Math.abs(faceRoll(face)) <= MAX_ROLL ? faceConfidence(face) : 0;

/**
 * The turn after which the surest face of a picture is upright, and the faces then. The picture as it is, where no face is sure. A
 * face upside down can be found as an upright one, but is surer after the turn: so each turn is tried unless the face is surely upright.
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
