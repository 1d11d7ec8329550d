/** Draws an eye: its lids when it blinks, and its gaze. */
import { clamp, mix, smoothstep } from "../numbers.ts";
import { PICTURE_SIZE, type Planes } from "../picture.ts";
import { type Affine, applyAffine, placeBox, STILL } from "./affine.ts";
import { clipBox } from "./frame.ts";
import { type Place, readMap, readPlane } from "./grid.ts";
import { type Maps, measureHeadMove } from "./maps.ts";
import { BESIDE, type Eye, LID_TABLE, LOWER_SKIN } from "./photo/eye.ts";
import { BLACK } from "./photo/light.ts";

/** The pose of an eye. `blink`: from 0, open, to 1, shut. The offset of the iris is in pixels. */
export type EyePose = { blink: number; gazeX: number; gazeY: number };

/** Smaller movements are not drawn. */
const LEAST_BLINK = 0.02;
const LEAST_GAZE = 0.05;
/**
 * Pixels around the box of the eye that are also drawn, because the head does not move all parts of the box equally.
 */
const MARGIN = 5;
/** The share of the opening that the upper lid covers. The lower lid rises by the rest. */
const UPPER_SHARE = 0.9;

/** One pixel of an eye, in the frame of the eye. Lengths in pixels. */
type Spot = {
  x: number;
  y: number;
  /** Distance from the middle: 1 at the corners. */
  side: number;
  /** The lids in the photo, and the upper end of the skin that moves. */
  upper: number;
  lower: number;
  top: number;
  /** The lids in this picture. */
  edge: number;
  lowerEdge: number;
  /** Less near the corners. */
  taper: number;
  /** How far the fold of the lid comes down near a corner. */
  fold: number;
};

/** `place`: for a film, the map from the photo to the frame; then `photo` has the pixels of the frame. */
export type EyeSource = { photo: Planes; maps: Maps; eyeDistance: number; place?: Affine };

type Context = Omit<EyeSource, "maps"> & { eye: Eye; pose: EyePose; scale: 1 | 2; fade: number };

const inPhoto: Place = { x: 0, y: 0 };

/** The luma or chroma of the photo at a place of the frame of the eye. */
const readPhoto = ({ eye, scale, place }: Context, plane: Uint8Array, x: number, y: number): number => {
  const { frame } = eye;
  inPhoto.x = frame.x + x * frame.axisX - y * frame.axisY;
  inPhoto.y = frame.y + x * frame.axisY + y * frame.axisX;
  if (place) applyAffine(place, inPhoto.x, inPhoto.y, inPhoto);
  const { x: column, y: row } = inPhoto;
  if (scale === 1) return readPlane(plane, PICTURE_SIZE, column, row);
  return readPlane(plane, PICTURE_SIZE / 2, column / 2 - 0.25, row / 2 - 0.25);
};

/** The maximum descent of the fold above a corner: in eye distances, and as a share of the height of the skin. */
const FOLD = 0.04;
const LARGEST_FOLD = 0.35;

/** Fills `spot` for a place in the photo. Returns false outside of the eye. */
const findSpot = ({ eye, pose, eyeDistance }: Context, place: Place, spot: Spot): boolean => {
  const { frame, half } = eye;
  const right = place.x - frame.x;
  const down = place.y - frame.y;
  const x = right * frame.axisX + down * frame.axisY;
  const y = down * frame.axisX - right * frame.axisY;
  const t = x / half;
  // Without a blink, only the part between the lids moves.
  const isShutting = pose.blink >= LEAST_BLINK;
  const reach = isShutting ? 1 + BESIDE : 1;
  if (t <= -reach || t >= reach) return false;
  const entry = (0.5 * clamp(t, -1, 1) + 0.5) * (LID_TABLE - 1.01);
  const index = entry | 0;
  const share = entry - index;
  const read = (table: Float32Array): number => {
    const value = table[index] as number;
    return value + ((table[index + 1] as number) - value) * share;
  };
  spot.x = x;
  spot.y = y;
  spot.side = t < 0 ? -t : t;
  spot.upper = read(eye.upper);
  spot.lower = read(eye.lower);
  spot.top = read(eye.top);
  const first = isShutting ? spot.top : spot.upper - 1;
  const last = isShutting && spot.side < 1 ? spot.lower + LOWER_SKIN * eyeDistance : spot.lower;
  if (y < first || y > last) return false;
  spot.lowerEdge = spot.lower - (1 - UPPER_SHARE) * pose.blink * (spot.lower - spot.upper);
  spot.edge = spot.upper + pose.blink * (spot.lowerEdge - spot.upper);
  spot.taper = smoothstep(1, 0.8, spot.side);
  const fold = Math.min(FOLD * eyeDistance, LARGEST_FOLD * (spot.upper - spot.top));
  const isNear = spot.side < 1 ? smoothstep(0.5, 1, spot.side) : smoothstep(reach, 1, spot.side);
  spot.fold = pose.blink * fold * isNear;
  return true;
};

/** Height of the lashes and the rim of a lid, in eye distances. */
const LASHES = 0.03;

/**
 * The upper lid: stretched skin. Its lashes and its rim, which landmarks do not find, fade as it closes. Deep eyes have
 * little skin to stretch, so half of the cover of the eye is the mirrored skin below it.
 */
const readLid = (context: Context, plane: Uint8Array, spot: Spot): number => {
  const { pose, fade, eyeDistance, photo } = context;
  const { x, y, side, top, edge, upper, lower, fold } = spot;
  const lashes = LASHES * eyeDistance;
  const share = clamp((y - top) / Math.max(0.5, edge - top));
  const stop = upper - lashes * fade * spot.taper;
  const stretch = 0.25 * pose.blink * (side < 1 ? 1 : smoothstep(1 + BESIDE, 1, side));
  const skinY = top + (stop - top) * share ** (1 + stretch * (1 - share)) - 6.75 * fold * share * share * (1 - share);
  const over = smoothstep(upper - 0.03 * eyeDistance, upper + 0.04 * eyeDistance, y);
  const mirrored = 0.55 * fade * over * smoothstep(1, 0.6, side);
  let drawn = readPhoto(context, plane, x, skinY);
  if (mirrored > 0.01) {
    const below = readPhoto(context, plane, x, lower + 0.045 * eyeDistance + 0.8 * (edge - y));
    drawn = mix(drawn, plane === photo.y ? BLACK + (below - BLACK) * 0.93 : below, mirrored);
  }
  if (fade >= 1 || y < edge - lashes) return drawn;
  const ownLashes = readPhoto(context, plane, x, upper - (edge - y));
  return mix(ownLashes, drawn, Math.max(fade, smoothstep(lashes * 0.5, lashes, edge - y)));
};

/** The skin below the eye, which comes up with the lower lid. */
const readLowerLid = (context: Context, plane: Uint8Array, { x, y, lower, lowerEdge, taper }: Spot): number => {
  const { fade, eyeDistance } = context;
  const end = LOWER_SKIN * eyeDistance;
  const share = clamp((y - lowerEdge) / Math.max(0.5, lower + end - lowerEdge));
  const skip = 0.025 * eyeDistance * fade * taper;
  return readPhoto(context, plane, x, lower + skip + share * (end - skip));
};

/** The eye between its lids, and the lower lid. The eye follows the gaze, except at its corners. */
const readOpenEye = (context: Context, plane: Uint8Array, spot: Spot): number => {
  const { pose, scale } = context;
  const { x, y, lowerEdge } = spot;
  // Without a blink the lower lid is that of the photo.
  const onLowerLid = pose.blink < LEAST_BLINK ? 0 : clamp(0.5 + (y - lowerEdge) / (1.5 * scale));
  if (onLowerLid >= 1) return readLowerLid(context, plane, spot);
  const follows = smoothstep(0, 0.35, 1 - spot.side);
  const open = readPhoto(context, plane, x - pose.gazeX * follows, y - pose.gazeY * follows);
  return onLowerLid <= 0 ? open : mix(open, readLowerLid(context, plane, spot), onLowerLid);
};

/** The lashes, and the shadow of the lid on the eye. */
const shadeLid = ({ pose, fade, eyeDistance }: Context, luma: number, spot: Spot): number => {
  if (pose.blink <= LEAST_BLINK) return luma;
  const below = spot.y - spot.edge;
  const width = (below < 0 ? 0.011 : 0.016) * eyeDistance;
  const lashes = 0.62 * fade * spot.taper * Math.exp(-((below / width) ** 2));
  const isOnEye = spot.side < 1 && below > 0 ? clamp(0.5 - (spot.y - spot.lowerEdge) / 1.5) : 0;
  const shadow = 0.25 * isOnEye * fade * smoothstep(0.06 * eyeDistance, 0, below);
  return BLACK + (luma - BLACK) * (1 - lashes) * (1 - shadow);
};

const readEye = (context: Context, plane: Uint8Array, spot: Spot, onLid: number): number => {
  if (onLid >= 1) return readLid(context, plane, spot);
  const open = readOpenEye(context, plane, spot);
  return onLid <= 0 ? open : mix(open, readLid(context, plane, spot), onLid);
};

const read: Place = { x: 0, y: 0 };
const spot: Spot = { x: 0, y: 0, side: 0, upper: 0, lower: 0, top: 0, edge: 0, lowerEdge: 0, taper: 0, fold: 0 };

/** Draws an eye into `target`, which has the warped photo. */
export const drawEye = (
  eye: Eye,
  pose: EyePose,
  { photo, maps, eyeDistance, place }: EyeSource,
  target: Planes,
): void => {
  if (pose.blink < LEAST_BLINK && Math.abs(pose.gazeX) + Math.abs(pose.gazeY) <= LEAST_GAZE) return;
  const fade = smoothstep(0, 0.55, pose.blink);
  for (const scale of [1, 2] as const) {
    const context: Context = { eye, pose, photo, eyeDistance, scale, fade, ...(place && { place }) };
    const size = PICTURE_SIZE / scale;
    const isShutting = pose.blink >= LEAST_BLINK;
    const box = isShutting ? eye.blinkBox : eye.gazeBox;
    const shown = place ? placeBox(box, place) : box;
    const moved = place ? STILL : measureHeadMove(maps, eye.frame);
    const { left, top, right, bottom } = clipBox(shown, MARGIN, moved, scale, size);
    const middle = (scale - 1) / 2;
    for (let row = top; row < bottom; row++) {
      for (let column = left; column < right; column++) {
        readMap(maps.upper.x, maps.upper.y, scale * column + middle, scale * row + middle, read);
        if (!findSpot(context, read, spot)) continue;
        const onLid = clamp(0.5 - (spot.y - spot.edge) / (0.9 * scale));
        const pixel = row * size + column;
        if (scale === 1) {
          target.y[pixel] = shadeLid(context, readEye(context, photo.y, spot, onLid), spot) + 0.5;
        } else {
          target.u[pixel] = readEye(context, photo.u, spot, onLid) + 0.5;
          target.v[pixel] = readEye(context, photo.v, spot, onLid) + 0.5;
        }
      }
    }
  }
};
