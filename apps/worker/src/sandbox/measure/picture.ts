/** The pixels of a picture: decoded once, then cut and scaled for each measurement and for each file. Runs in a child process. */
import { encodeMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import type Sharp from "sharp";
import { decodeUpright, EIGHT_BITS, type ImageFormat } from "../inspect/decode.ts";
import type { Turn } from "../report.ts";
import { animate, FACE_SIDE } from "./animate.ts";
import type { Face, FindFaces, Picture, Point } from "./faces.ts";
import { eyeContrast, mouthContrast } from "./features.ts";
import {
  type Box,
  brightness,
  countedFaces,
  edgeDistance,
  faceBox,
  faceConfidence,
  facePitch,
  faceRoll,
  faceSize,
  faceYaw,
  type Grey,
  measureSharpness,
  SHARPNESS_HEIGHT,
  type Size,
} from "./measure.ts";
import { searchUpright, turnPicture } from "./upright.ts";

/** The longer side at which a picture is measured. A face of 15 % of its height then has the height of the sharpness. */
export const PICTURE_SIDE = 2048;
/**
 * The longer side at which faces are searched. The detector scales the picture to 256 pixels, the mesh network the part
 * around each face to 192.
 */
const SEARCH_SIDE = 640;
/** The side of the normalized image, which is a square: the side of the cut part, within these bounds. */
export const NORMALIZED_SIDES = { min: 512, max: 1024 } as const;
/** The height of the face as a share of the normalized image's height, and the share above the face. */
const FACE_SHARE = 0.42;
const ABOVE_FACE = 0.3;
/** Both sides of the thumbnail. */
export const THUMB_SIDE = 256;
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
  eyes: number;
  mouth: number;
  /** The mesh, in pixels of the normalized image: see `encodeMesh`. */
  mesh: string;
  /** The square of the normalized image, in shares of the width and height of the picture. */
  square: { left: number; top: number; width: number; height: number };
};

export type PictureMeasures = {
  /**
   * The degrees by which the picture was turned clockwise, so that its face is upright. The other measures are those of
   * the turned picture.
   */
  turned: Turn;
  faces: number;
  /** The measures of the face, if the picture has exactly one. */
  face: FaceMeasures | null;
};
/**
 * `picture`: turned upright. `box`: the box of the only face, in pixels of this picture. `normalized`: the picture that
 * calls show.
 */
type Measured = { measures: PictureMeasures; picture: Picture; derived: Derived | null };
/** `face`: the normalized image at `FACE_SIDE`, and the mesh of its face. */
type Derived = { box: Box; normalized: Picture; face: { picture: Picture; mesh: readonly Point[] } };
/** The files of an avatar, as WebP. */
export type Files = { normalized: Buffer; thumb: Buffer; animated: Buffer };

const raw = ({ width, height }: Picture) => ({ raw: { width, height, channels: 3 as const } });

const tenths = (value: number): number => Math.round(value * 10) / 10;

/** The part of a box inside the picture, in whole pixels, at least one. */
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

/** The face for the measurement of sharpness: cut out, grey, with a fixed height. */
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

/** The picture for the search, and its scale. */
const scaleForSearch = async (sharp: typeof Sharp, picture: Picture): Promise<{ small: Picture; scale: number }> => {
  const { data, info } = await sharp(picture.data, raw(picture))
    .resize({ width: SEARCH_SIDE, height: SEARCH_SIDE, fit: "inside" })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { small: { data, width: info.width, height: info.height }, scale: picture.width / info.width };
};

/** A square in a picture, in whole pixels. */
type Square = { left: number; top: number; side: number };

/** The part of a picture that calls show. The face has `FACE_SHARE` of its height, if the picture has room. */
const normalizedPart = ({ left, top, right, bottom }: Box, { width, height }: Size): Square => {
  const side = Math.round(Math.min(width, height, (bottom - top) / FACE_SHARE));
  const place = (start: number, length: number): number => Math.min(length - side, Math.max(0, Math.round(start)));
  return { left: place((left + right - side) / 2, width), top: place(top - ABOVE_FACE * side, height), side };
};

/** Cuts a square out of a picture, and scales it. */
const cutSquare = async (
  sharp: typeof Sharp,
  picture: Picture,
  { left, top, side }: Square,
  to: number,
): Promise<Picture> => {
  const data = await sharp(picture.data, raw(picture))
    .extract({ left, top, width: side, height: side })
    .resize(to, to)
    .raw()
    .toBuffer();
  return { data, width: to, height: to };
};

/**
 * The normalized image, and the only face in it at `FACE_SIDE`. The networks see this face larger than in the whole
 * picture, so that its mesh is better. When they do not find the face again, the mesh is that of the whole picture.
 */
const normalize = async (sharp: typeof Sharp, findFaces: FindFaces, picture: Picture, face: Face) => {
  const part = normalizedPart(faceBox(face), picture);
  const side = Math.min(NORMALIZED_SIDES.max, Math.max(NORMALIZED_SIDES.min, part.side));
  const normalized = await cutSquare(sharp, picture, part, side);
  const small = side === FACE_SIDE ? normalized : await cutSquare(sharp, picture, part, FACE_SIDE);
  const [again] = countedFaces(await findFaces(small));
  const scale = FACE_SIDE / part.side;
  const mesh = (again ?? moveFace(face, scale, -part.left, -part.top)).mesh;
  const { width, height } = picture;
  const square = {
    left: part.left / width,
    top: part.top / height,
    width: part.side / width,
    height: part.side / height,
  };
  return { normalized, small, mesh, square };
};

/** The face of a picture that was moved, then scaled. */
const moveFace = (face: Face, scale: number, x = 0, y = 0): Face => ({
  ...face,
  mesh: face.mesh.map(([px, py, pz]) => [scale * (px + x), scale * (py + y), scale * pz]),
});

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
    return { measures: { turned: turn, faces: faces.length, face: null }, picture, derived: null };
  }
  const large = moveFace(face, scale);
  const box = faceBox(large);
  const grey = await cutFace(sharp, picture, box);
  const { normalized, small: part, mesh, square } = await normalize(sharp, findFaces, picture, large);
  const measures = {
    confidence: tenths(100 * faceConfidence(face)),
    size: tenths(faceSize(face, small)),
    roll: tenths(faceRoll(face)),
    yaw: tenths(faceYaw(face)),
    pitch: tenths(facePitch(face)),
    edgeDistance: tenths(edgeDistance(face, small)),
    sharpness: tenths(measureSharpness(grey)),
    brightness: tenths(brightness(grey)),
    eyes: tenths(eyeContrast(part, mesh)),
    mouth: tenths(mouthContrast(part, mesh)),
    mesh: encodeMesh(mesh, normalized.width / FACE_SIDE),
    square,
  };
  return {
    measures: { turned: turn, faces: 1, face: measures },
    picture,
    derived: { box, normalized, face: { picture: part, mesh } },
  };
};

/**
 * The files that are derived from a picture, without metadata. Equal pictures give equal bytes. For a face that cannot
 * be animated, the preview is a still picture.
 */
export const encodeFiles = async (
  sharp: typeof Sharp,
  { normalized, face }: Pick<Derived, "normalized" | "face">,
  label: string,
): Promise<Files> => {
  const { data } = normalized;
  const thumb = await sharp(data, raw(normalized)).resize(THUMB_SIDE, THUMB_SIDE).webp({ quality: QUALITY }).toBuffer();
  const animated = (await animate(sharp, face, label)) ?? thumb;
  return { normalized: await sharp(data, raw(normalized)).webp({ quality: QUALITY }).toBuffer(), thumb, animated };
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
