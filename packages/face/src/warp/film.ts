/**
 * A face in the frames of a film. Eyes and head are those of the film. The mouth moves like that of the photo. The maps
 * lead to the photo, and the place of a frame leads from the photo to the frame.
 */
import { PICTURE_LENGTH, PICTURE_SIZE, planesFrom } from "../picture.ts";
import { type Affine, placeBox, STILL } from "./affine.ts";
import { drawEye } from "./draw-eye.ts";
import { drawMouth } from "./draw-mouth.ts";
import type { Face } from "./face.ts";
import { type Box, boxAround, clipBox } from "./frame.ts";
import { CELL, GRID_SIZE, type MovingRow } from "./grid.ts";
import { createMaps, type Maps, updateFilmMaps } from "./maps.ts";
import type { Pose } from "./pose.ts";
import { createPacked, type PackedPhoto, packPart, remap } from "./remap.ts";

/** `picture`: I420 of 512 × 512 pixels. `place`: from a place in the photo to the same place in this frame. */
export type FilmFrame = { picture: Uint8Array; place: Affine };

export type Film = {
  face: Face;
  /** The part of the photo that expressions move, and the part that the head also moves, in pixels. */
  mouth: Box;
  whole: Box;
  /** Written again for each picture. */
  packed: PackedPhoto;
  maps: Maps;
};

/** Pixels around a part that interpolation also reads. */
const MARGIN = CELL;

const nodeBox = (nodes: readonly number[]): Box =>
  boxAround(nodes.map((node) => ({ x: CELL * (node % GRID_SIZE), y: CELL * Math.floor(node / GRID_SIZE) })));

/** Creates a film of a face. `face`: the face of its first frame. */
export const createFilm = (face: Face): Film => {
  const { upperNodes, lowerNodes } = face.fields;
  return {
    face,
    mouth: nodeBox([...upperNodes, ...lowerNodes]),
    whole: nodeBox([...face.moving]),
    packed: createPacked(),
    maps: createMaps(),
  };
};

/** The rows of cells of a part. */
const cellRows = ({ left, top, right, bottom }: Box): MovingRow[] => {
  const [first, end] = [Math.floor(left / CELL), Math.ceil(right / CELL)];
  const row = Math.floor(top / CELL);
  return Array.from({ length: Math.ceil(bottom / CELL) - row }, (_, index) => ({ row: row + index, first, end }));
};

/**
 * Draws a pose into a frame: into `picture`, and returns it. At rest it equals the frame, byte for byte. Gaze, breath and
 * blinks with both eyes are those of the film.
 */
export const drawFilm = (
  { face, mouth, whole, packed, maps }: Film,
  { picture: frame, place }: FilmFrame,
  pose: Pose,
  picture: Uint8Array = new Uint8Array(PICTURE_LENGTH),
): Uint8Array => {
  picture.set(frame);
  const isTurned = pose.yaw !== 0 || pose.pitch !== 0 || pose.roll !== 0;
  const part = placeBox(isTurned || pose.blinkLeft > 0 ? whole : mouth, place);
  const box = clipBox(part, MARGIN, STILL, 1, PICTURE_SIZE);
  const { eyes, eyeDistance, lips, light } = face;
  const rows = cellRows(box);
  if (!updateFilmMaps(maps, face, pose, { place, rows })) return picture;
  const target = planesFrom(picture);
  const photo = planesFrom(frame);
  packPart(photo, clipBox(part, 2 * MARGIN, STILL, 1, PICTURE_SIZE), packed);
  remap(packed, target, maps.picture, rows);
  if (pose.talk > 0) drawMouth({ photo, eyeDistance, lips, light, maps, place }, pose, target);
  const source = { photo, maps, eyeDistance, place };
  drawEye(eyes[0], { blink: pose.blinkLeft, gazeX: 0, gazeY: 0 }, source, target);
  return picture;
};
