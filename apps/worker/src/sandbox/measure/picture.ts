/** The pixels of a picture: decoded once, then cut and scaled for each measurement and for each file. Runs in a child process. */
import type Sharp from "sharp";
import { decodeUpright, EIGHT_BITS, type ImageFormat } from "../inspect/decode.ts";
import type { Turn } from "../report.ts";
import type { FindFaces, Picture } from "./faces.ts";
import {
  type Box,
  brightnessOf,
  confidenceOf,
  edgeDistanceOf,
  faceBox,
  type Grey,
  pitchOf,
  rollOf,
  SHARPNESS_HEIGHT,
  sharpnessOf,
  sizeOf,
  yawOf,
} from "./measure.ts";
import { searchUpright, turnPicture } from "./upright.ts";

/** The longer side at which a picture is measured. A face of 15 % of its height then has the height of the sharpness. */
export const PICTURE_SIDE = 2048;
/** The longer side at which faces are searched. The detector scales to 256 pixels, the mesh to 192 around each face. */
const SEARCH_SIDE = 640;
/** The longer side of the normalized image. */
export const NORMALIZED_SIDE = 1024;
/** Both sides of the thumbnail. */
export const THUMB_SIDE = 256;
/** The side of the thumbnail's part of the picture, in heights of the face: with hair and shoulders. */
const THUMB_FACES = 2;
/** Artifacts around faces are not visible from 85. */
const QUALITY = 90;

export type FaceMeasures = {
  /** The units are those of `REQUIREMENTS`: percent, degrees. */
  confidence: number;
  size: number;
  roll: number;
  yaw: number;
  pitch: number;
  edgeDistance: number;
  sharpness: number;
  brightness: number;
};

export type PictureMeasures = {
  /** By how many degrees the picture was turned clockwise, so that its face is upright. All that follows is measured then. */
  turned: Turn;
  faces: number;
  /** The face, where there is exactly one. */
  face: FaceMeasures | null;
};
/** `picture`: turned. `box`: that of the only face, in pixels of this picture. */
type Measured = { measures: PictureMeasures; picture: Picture; box: Box | null };

const raw = ({ width, height }: Picture) => ({ raw: { width, height, channels: 3 as const } });

const tenths = (value: number): number => Math.round(value * 10) / 10;

/** The part of a box that is inside of the picture, in whole pixels, at least one. */
const inside = ({ left, top, right, bottom }: Box, { width, height }: Picture) => {
  const x = Math.min(width - 1, Math.max(0, Math.round(left)));
  const y = Math.min(height - 1, Math.max(0, Math.round(top)));
  return {
    left: x,
    top: y,
    width: Math.max(1, Math.min(width, Math.round(right)) - x),
    height: Math.max(1, Math.min(height, Math.round(bottom)) - y),
  };
};

/** The face as the sharpness needs it: cut out, grey, of a fixed height. */
const cutFace = async (sharp: typeof Sharp, picture: Picture, box: Box): Promise<Grey> => {
  const part = inside(box, picture);
  const width = Math.max(3, Math.round((SHARPNESS_HEIGHT * part.width) / part.height));
  const { data, info } = await sharp(picture.data, raw(picture))
    .extract(part)
    .resize({ width: Math.min(width, 2 * SHARPNESS_HEIGHT), height: SHARPNESS_HEIGHT, fit: "fill" })
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
};

/** The picture for the search, and how much smaller it is. */
const scaleForSearch = async (sharp: typeof Sharp, picture: Picture): Promise<{ small: Picture; scale: number }> => {
  const { data, info } = await sharp(picture.data, raw(picture))
    .resize({ width: SEARCH_SIDE, height: SEARCH_SIDE, fit: "inside" })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { small: { data, width: info.width, height: info.height }, scale: picture.width / info.width };
};

/** Turns a picture upright by its face, and measures its faces. */
export const measurePicture = async (
  sharp: typeof Sharp,
  findFaces: FindFaces,
  original: Picture,
): Promise<Measured> => {
  const { small: unturned, scale } = await scaleForSearch(sharp, original);
  const { turn, faces, picture: small } = await searchUpright(findFaces, unturned);
  const picture = turnPicture(original, turn);
  const [face] = faces;
  if (!face || faces.length > 1) {
    return { measures: { turned: turn, faces: faces.length, face: null }, picture, box: null };
  }
  const { left, top, right, bottom } = faceBox(face);
  const box = { left: left * scale, top: top * scale, right: right * scale, bottom: bottom * scale };
  const grey = await cutFace(sharp, picture, box);
  const measures = {
    confidence: tenths(100 * confidenceOf(face)),
    size: tenths(sizeOf(face, small)),
    roll: tenths(rollOf(face)),
    yaw: tenths(yawOf(face)),
    pitch: tenths(pitchOf(face)),
    edgeDistance: tenths(edgeDistanceOf(face, small)),
    sharpness: tenths(sharpnessOf(grey)),
    brightness: tenths(brightnessOf(grey)),
  };
  return { measures: { turned: turn, faces: 1, face: measures }, picture, box };
};

/** The square around a face for the thumbnail, moved into the picture. */
const thumbPart = ({ left, top, right, bottom }: Box, { width, height }: Picture) => {
  const side = Math.max(1, Math.min(width, height, Math.round(THUMB_FACES * Math.max(right - left, bottom - top))));
  const place = (center: number, length: number): number =>
    Math.min(length - side, Math.max(0, Math.round(center - side / 2)));
  return { left: place((left + right) / 2, width), top: place((top + bottom) / 2, height), width: side, height: side };
};

/** The files that are derived of a picture, as WebP without metadata. Equal pictures give equal bytes. */
export const encodeFiles = async (
  sharp: typeof Sharp,
  picture: Picture,
  box: Box,
): Promise<{ normalized: Buffer; thumb: Buffer }> => {
  const [normalized, thumb] = await Promise.all([
    sharp(picture.data, raw(picture))
      .resize({ width: NORMALIZED_SIDE, height: NORMALIZED_SIDE, fit: "inside", withoutEnlargement: true })
      .webp({ quality: QUALITY })
      .toBuffer(),
    sharp(picture.data, raw(picture))
      .extract(thumbPart(box, picture))
      .resize({ width: THUMB_SIDE, height: THUMB_SIDE })
      .webp({ quality: QUALITY })
      .toBuffer(),
  ]);
  return { normalized, thumb };
};

/** Decodes an image into a picture of at most `PICTURE_SIDE`, upright and opaque. Throws for each error of the decoder. */
export const decodePicture = async (
  sharp: typeof Sharp,
  bytes: Buffer,
  maxPixels: number,
  format: ImageFormat = EIGHT_BITS,
): Promise<Picture> => {
  const { data, info } = await decodeUpright(sharp, bytes, format, { side: PICTURE_SIDE, maxPixels }, (picture) =>
    picture.flatten({ background: "#ffffff" }).toColourspace("srgb").raw().toBuffer({ resolveWithObject: true }),
  );
  if (info.channels !== 3) throw new Error(`The picture has ${info.channels} channels.`);
  return { data, width: info.width, height: info.height };
};
