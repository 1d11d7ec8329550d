/** Draws the mouth: both lips from their maps, and between them the inside. */
import { clamp, mix, smoothstep } from "../numbers.ts";
import { PICTURE_SIZE, type Planes } from "../picture.ts";
import { type Affine, applyAffine, placeBox, STILL } from "./affine.ts";
import { EDGE_TABLE, type Edges, findEdges } from "./edges.ts";
import { type Box, boxAround, clipBox, fromFrame } from "./frame.ts";
import { CELL, type Place, readMap, readPlane } from "./grid.ts";
import { type Colour, createInside, drawInside, drawTip, type Inside } from "./inside.ts";
import { type Maps, measureHeadMove, type NodeMap } from "./maps.ts";
import { BLACK, type Light } from "./photo/light.ts";
import type { Lips } from "./photo/lips.ts";
import type { Pose } from "./pose.ts";

/** The parts of a face that the drawing needs. */
export type MouthSource = {
  photo: Planes;
  eyeDistance: number;
  lips: Lips;
  light: Light;
  maps: Maps;
  /**
   * The map from a place in the photo to a place in the frame of a film. In a film, `photo` has the pixels of the
   * current frame.
   */
  place?: Affine;
};

/** Half of the width of the edge of a lip, in pixels of luma. */
const EDGE = 0.6;
/**
 * Pixels around the box of the mouth that are also drawn, because the head does not move all parts of the box equally.
 */
const MARGIN = 5;
/**
 * Near the line of the mouth, a cell of the grid has nodes of both maps. Beyond this distance from the line, in pixels,
 * it has nodes of one map.
 */
const LINE_REACH = 2 * CELL;

/** The box of a mouth with these edges, and of the line between its maps. */
const findBox = ({ frame }: Lips, { left, width, top, bottom }: Edges, eyeDistance: number): Box => {
  const beside = 0.12 * eyeDistance;
  const highest = Math.min(-LINE_REACH, ...top) - 2;
  const lowest = Math.max(LINE_REACH, ...bottom) + 2;
  const xs = [left - beside, left + width + beside];
  return boxAround(xs.flatMap((x) => [fromFrame(frame, x, highest), fromFrame(frame, x, lowest)]));
};

type Context = MouthSource & {
  pose: Pose;
  edges: Edges;
  inside: Inside;
  box: Box;
  target: Planes;
  scale: 1 | 2;
  size: number;
};

const colour: Colour = { y: 0, u: 0, v: 0 };
const sum: Colour = { y: 0, u: 0, v: 0 };
const from: Place = { x: 0, y: 0 };
const inPhoto: Place = { x: 0, y: 0 };

/** Adds a share of the colour of the photo at a place to `sum`. */
const addPhoto = ({ photo, scale, size }: Context, { x, y }: Place, share: number): void => {
  if (scale === 1) {
    sum.y += share * readPlane(photo.y, size, x, y);
    return;
  }
  sum.u += share * readPlane(photo.u, size, x / 2 - 0.25, y / 2 - 0.25);
  sum.v += share * readPlane(photo.v, size, x / 2 - 0.25, y / 2 - 0.25);
};

const addMapped = (context: Context, map: NodeMap, column: number, row: number, share: number): void => {
  readMap(map.x, map.y, column, row, inPhoto);
  if (context.place) applyAffine(context.place, inPhoto.x, inPhoto.y, inPhoto);
  addPhoto(context, inPhoto, share);
};

/** Protruded lips shade the teeth of a smile, most at the corners. */
const ROUND_SHADE = 0.85;

/**
 * Mixes the inside of the mouth in the photo into `colour`. The upper teeth are fixed to the skull; the mouth opens
 * below them. Parted lips without teeth fade to the drawn inside.
 */
const keepPhotoInside = (context: Context, x: number, y: number, top: number): void => {
  const { lips, light, pose, photo, eyeDistance, scale, size, inside } = context;
  const [above, below] = [lips.upper(x), lips.lower(x)];
  const isTeeth = light.hasTeeth ? smoothstep(below + 1.5, below - 1.5, y) * smoothstep(0.5, 2.5, below - above) : 0;
  const share = mix(1, isTeeth, pose.talk);
  const fixedY = mix(y, clamp(y, above + 1, Math.max(above + 1, below - 1)), pose.talk);
  const { frame } = lips;
  inPhoto.x = frame.x + x * frame.axisX - fixedY * frame.axisY;
  inPhoto.y = frame.y + x * frame.axisY + fixedY * frame.axisX;
  if (context.place) applyAffine(context.place, inPhoto.x, inPhoto.y, inPhoto);
  const { x: column, y: row } = inPhoto;
  if (scale === 1) {
    const upperLip = 0.7 + 0.3 * smoothstep(0, 0.035 * eyeDistance, y - top);
    const cheeks = 1 - 0.4 * smoothstep(0.5, 1, Math.abs(x - inside.middle) / inside.half);
    const shadow = mix(1, upperLip * mix(1, ROUND_SHADE * cheeks, clamp(pose.round)), pose.talk);
    colour.y = mix(colour.y, BLACK + (readPlane(photo.y, size, column, row) - BLACK) * shadow, share);
    return;
  }
  colour.u = mix(colour.u, readPlane(photo.u, size, column / 2 - 0.25, row / 2 - 0.25), share);
  colour.v = mix(colour.v, readPlane(photo.v, size, column / 2 - 0.25, row / 2 - 0.25), share);
};

/**
 * Draws the dark line between closed lips, which a photo of an open mouth lacks. `share`: from 0 at the left corner to 1.
 */
const darkenSeam = ({ pose }: Context, y: number, top: number, bottom: number, share: number): void => {
  const gap = bottom - top;
  if (gap >= 2 || pose.talk <= 0) return;
  const line = Math.exp(-(((y - (top + bottom) / 2) / 1.3) ** 2));
  const corners = smoothstep(0, 0.12, Math.min(share, 1 - share));
  sum.y -= (sum.y - BLACK) * 0.42 * pose.talk * line * (1 - 0.5 * gap) * corners;
};

const put = ({ target, scale, size }: Context, column: number, row: number): void => {
  const pixel = row * size + column;
  if (scale === 1) {
    target.y[pixel] = sum.y + 0.5;
    return;
  }
  target.u[pixel] = sum.u + 0.5;
  target.v[pixel] = sum.v + 0.5;
};

/**
 * Beside the mouth, both maps agree. So only pixels near the line between the maps are drawn. Returns whether it has
 * drawn a pixel.
 */
const drawBeside = (context: Context, x: number, y: number, column: number, row: number): boolean => {
  const { lips, maps } = context;
  if (Math.abs(y) >= LINE_REACH) return false;
  addMapped(context, y > lips.lower(x) ? maps.lower : maps.upper, column, row, 1);
  return true;
};

/**
 * Returns false for a pixel that the warp has already drawn correctly: on one lip, away from its edge and from the line
 * of the mouth.
 */
const drawBetweenCorners = (
  context: Context,
  x: number,
  y: number,
  entry: number,
  column: number,
  row: number,
): boolean => {
  const { edges, maps, scale, lips, light, inside } = context;
  const index = entry | 0;
  const next = Math.min(EDGE_TABLE - 1, index + 1);
  const share = entry - index;
  const top = mix(edges.top[index] as number, edges.top[next] as number, share);
  const bottom = mix(edges.bottom[index] as number, edges.bottom[next] as number, share);
  const width = 2 * EDGE * scale;
  const isLip = y < top - width || y > bottom + width;
  if (isLip && Math.abs(y) > LINE_REACH && y < top === y < 0) return false;
  let upper = clamp(0.5 - (y - top) / width);
  let lower = clamp(0.5 + (y - bottom) / width);
  if (upper + lower > 1) {
    const both = upper + lower;
    upper /= both;
    lower /= both;
  }
  if (upper > 0) addMapped(context, maps.upper, column, row, upper);
  if (lower > 0) addMapped(context, maps.lower, column, row, lower);
  const between = 1 - upper - lower;
  if (between > 0.002) {
    drawInside(inside, x, y, top, bottom, colour);
    if (lips.isOpen) keepPhotoInside(context, x, y, top);
    if (light.hasTeeth) drawTip(inside, x, y, bottom, colour);
    sum.y += between * colour.y;
    sum.u += between * colour.u;
    sum.v += between * colour.v;
  }
  if (lips.isOpen && scale === 1) darkenSeam(context, y, top, bottom, entry / EDGE_TABLE);
  return true;
};

/** Draws the planes of one scale. */
const drawScale = (context: Context): void => {
  const { maps, lips, edges, scale, size, place } = context;
  const { frame } = lips;
  const box = place ? placeBox(context.box, place) : context.box;
  const moved = place ? STILL : measureHeadMove(maps, frame);
  const { left, top, right, bottom } = clipBox(box, MARGIN, moved, scale, size);
  const middle = (scale - 1) / 2;
  for (let row = top; row < bottom; row++) {
    for (let column = left; column < right; column++) {
      const pictureX = scale * column + middle;
      const pictureY = scale * row + middle;
      readMap(maps.head.x, maps.head.y, pictureX, pictureY, from);
      const fromX = from.x - frame.x;
      const fromY = from.y - frame.y;
      const x = fromX * frame.axisX + fromY * frame.axisY;
      const y = fromY * frame.axisX - fromX * frame.axisY;
      const entry = ((x - edges.left) / edges.width) * (EDGE_TABLE - 1);
      sum.y = sum.u = sum.v = 0;
      const isBeside = entry < 0 || entry > EDGE_TABLE - 1;
      const isDrawn = isBeside
        ? drawBeside(context, x, y, pictureX, pictureY)
        : drawBetweenCorners(context, x, y, entry, pictureX, pictureY);
      if (isDrawn) put(context, column, row);
    }
  }
};

/** Draws the mouth into `target`, which has the warped photo. */
export const drawMouth = (source: MouthSource, pose: Pose, target: Planes): void => {
  const edges = findEdges(source.lips, source.maps);
  const inside = createInside(source, edges, pose.tongue);
  const box = findBox(source.lips, edges, source.eyeDistance);
  for (const scale of [1, 2] as const) {
    drawScale({ ...source, pose, edges, inside, box, target, scale, size: PICTURE_SIZE / scale });
  }
};
