/** The maps of a picture: for each node of the grid, its source place in the photo. */
import { clamp, mix, smoothstep } from "../numbers.ts";
import { type Affine, applyAffine, invertAffine } from "./affine.ts";
import { EXPRESSIONS, type Expression, type Field, type Fields, JAW_WAY, USES_LOWER, USES_UPPER } from "./fields.ts";
import { CELL, GRID_SIZE, type MovingRow, NODE_COUNT, type Place, readField, readMap } from "./grid.ts";
import type { Head } from "./head.ts";
import type { Lips } from "./photo/lips.ts";
import type { Pose } from "./pose.ts";

/** x and y for each node, in pixels. */
export type NodeMap = { x: Float32Array; y: Float32Array };

export type Maps = {
  /** Undoes the movement of the head only. */
  head: NodeMap;
  /** Undoes also the expression: above the seam of the lips, and below it. Valid where `Fields.uses` says so. */
  upper: NodeMap;
  lower: NodeMap;
  /** `upper` above the line of the mouth and `lower` below it. */
  picture: NodeMap;
  /** The forward movement of each node by the expression. */
  upperMove: NodeMap;
  lowerMove: NodeMap;
  /** How far the jaw is open, as a share of its largest opening. */
  jaw: number;
};

/** Lips that are apart in the photo part less when they speak. */
export const PART_SHARE_OPEN = 0.4;
/** Share of the movement of the breath, in eye distances. */
const BREATH = 0.004;
/** Fixed-point iterations that invert a movement. Slopes of the fields are below 0.5, so each step halves the error. */
const UPPER_STEPS = 2;
const LOWER_STEPS = 3;

const emptyMap = (): NodeMap => ({ x: new Float32Array(NODE_COUNT), y: new Float32Array(NODE_COUNT) });

const identityMap = (): NodeMap => ({
  x: Float32Array.from({ length: NODE_COUNT }, (_, node) => CELL * (node % GRID_SIZE)),
  y: Float32Array.from({ length: NODE_COUNT }, (_, node) => CELL * Math.floor(node / GRID_SIZE)),
});

export const createMaps = (): Maps => ({
  head: identityMap(),
  upper: identityMap(),
  lower: identityMap(),
  picture: identityMap(),
  upperMove: emptyMap(),
  lowerMove: emptyMap(),
  jaw: 0,
});

/**
 * The share of each expression in a pose. The opening of the lips is absolute: lips that are apart in the photo close
 * by the excess, and the jaw only adds the difference. Without this, the mouth of a smiling photo would open too far.
 */
const weighExpressions = (pose: Pose, lips: Lips): Record<Expression, number> => {
  const closed = clamp(pose.closed);
  const inPhoto = lips.isOpen ? lips.gap : 0;
  const gap = mix(inPhoto, pose.gap, pose.talk);
  const jaw = Math.max(0, gap - inPhoto) / JAW_WAY;
  return {
    jaw: jaw * (1 - pose.round),
    jawRound: jaw * pose.round,
    part: pose.part * (lips.isOpen ? PART_SHARE_OPEN : 1),
    wide: pose.wide,
    round: pose.round * (1 + 0.2 * smoothstep(0.06, 0.15, inPhoto)),
    close: lips.isOpen ? clamp(1 - gap / inPhoto) : closed,
    press: closed * pose.talk,
    tuck: pose.tuck * (1 - closed),
    smile: pose.smile,
    brow: pose.brow,
  };
};

/** Adds up the fields of the expressions. */
const sumMoves = (
  { upperMove, lowerMove }: Maps,
  { expressions }: Fields,
  weights: Record<Expression, number>,
): void => {
  for (const values of [upperMove.x, upperMove.y, lowerMove.x, lowerMove.y]) values.fill(0);
  for (const [index, name] of EXPRESSIONS.entries()) {
    const field = expressions[index];
    if (field !== undefined && weights[name] !== 0) addField(upperMove, lowerMove, field, weights[name]);
  }
};

const addField = (upper: NodeMap, lower: NodeMap, { nodes, moves }: Field, weight: number): void => {
  const { x: upperX, y: upperY } = upper;
  const { x: lowerX, y: lowerY } = lower;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index] as number;
    const at = 4 * index;
    upperX[node] = (upperX[node] as number) + weight * (moves[at] as number);
    upperY[node] = (upperY[node] as number) + weight * (moves[at + 1] as number);
    lowerX[node] = (lowerX[node] as number) + weight * (moves[at + 2] as number);
    lowerY[node] = (lowerY[node] as number) + weight * (moves[at + 3] as number);
  }
};

const move: Place = { x: 0, y: 0 };

/** Writes for each of the nodes the place that `moves` brings to where `head` has it. */
const undoMoves = (nodes: Int32Array, moves: NodeMap, head: NodeMap, steps: number, into: NodeMap): void => {
  const { x: movesX, y: movesY } = moves;
  const { x: headX, y: headY } = head;
  const { x: intoX, y: intoY } = into;
  for (let index = 0; index < nodes.length; index++) {
    const node = nodes[index] as number;
    const x = headX[node] as number;
    const y = headY[node] as number;
    let fromX = x - (movesX[node] as number);
    let fromY = y - (movesY[node] as number);
    for (let step = 0; step < steps; step++) {
      readMap(movesX, movesY, fromX, fromY, move);
      fromX = x - move.x;
      fromY = y - move.y;
    }
    intoX[node] = fromX;
    intoY[node] = fromY;
  }
};

const copyNode = (from: NodeMap, to: NodeMap, node: number): void => {
  to.x[node] = from.x[node] as number;
  to.y[node] = from.y[node] as number;
};

/** The parts of a face that the maps need. `moving`: the nodes that the head or an expression moves. */
export type MapSource = { eyeDistance: number; lips: Lips; fields: Fields; head: Head; moving: Int32Array };

/**
 * Undoes the movement of the head. Because the angles are small, the movement of a place depends linearly on its depth.
 */
const undoHead = ({ eyeDistance, head, moving }: MapSource, pose: Pose, into: NodeMap): void => {
  const { pivot, share, depth } = head;
  const shiftY = pose.shiftY - BREATH * eyeDistance * pose.breath;
  for (let index = 0; index < moving.length; index++) {
    const node = moving[index] as number;
    const row = (node / GRID_SIZE) | 0;
    const x = (node - row * GRID_SIZE) * CELL;
    const y = row * CELL;
    const follows = share[node] as number;
    const z = depth[node] as number;
    into.x[node] = x - follows * (pose.shiftX - pose.yaw * z - pose.roll * (y - pivot.y));
    into.y[node] = y - follows * (shiftY + pose.pitch * z + pose.roll * (x - pivot.x));
  }
};

/** Computes the maps of a pose. */
export const updateMaps = (maps: Maps, source: MapSource, pose: Pose): void => {
  const { lips, fields } = source;
  const weights = weighExpressions(pose, lips);
  maps.jaw = weights.jaw + weights.jawRound;
  sumMoves(maps, fields, weights);
  undoHead(source, pose, maps.head);
  const { head, upper, lower, picture } = maps;
  // Most of the nodes that the head moves are moved by no expression.
  upper.x.set(head.x);
  upper.y.set(head.y);
  // A face that listens: only its head moves.
  if (EXPRESSIONS.every((name) => weights[name] === 0)) {
    for (const map of [lower, picture]) {
      map.x.set(head.x);
      map.y.set(head.y);
    }
    return;
  }
  undoMoves(fields.upperNodes, maps.upperMove, head, UPPER_STEPS, upper);
  undoMoves(fields.lowerNodes, maps.lowerMove, head, LOWER_STEPS, lower);
  picture.x.set(upper.x);
  picture.y.set(upper.y);
  const { x: originX, y: originY, axisX, axisY } = lips.frame;
  for (let index = 0; index < fields.lowerNodes.length; index++) {
    const node = fields.lowerNodes[index] as number;
    const isBelow = ((head.y[node] as number) - originY) * axisX - ((head.x[node] as number) - originX) * axisY > 0;
    if (isBelow) copyNode(lower, picture, node);
  }
};

/** How far the head moves a place, in pixels. */
export const measureHeadMove = ({ head }: Maps, { x, y }: Place): Place => {
  const from: Place = { x: 0, y: 0 };
  readMap(head.x, head.y, x, y, from);
  return { x: x - from.x, y: y - from.y };
};

/** Moves a place back by the fixed point of `moves`. */
const undoMove = ({ x: movesX, y: movesY }: NodeMap, { x, y }: Place, steps: number, into: Place): void => {
  into.x = x;
  into.y = y;
  for (let step = 0; step <= steps; step++) {
    readMap(movesX, movesY, into.x, into.y, move);
    into.x = x - move.x;
    into.y = y - move.y;
  }
};

/** Moves a place back by a gesture of the head. */
const undoHeadAt = ({ head }: MapSource, { yaw, pitch, roll }: Pose, place: Place): void => {
  if (yaw === 0 && pitch === 0 && roll === 0) return;
  const { x, y } = place;
  const { pivot, share, depth } = head;
  const follows = readField(share, x, y);
  const z = readField(depth, x, y);
  place.x = x + follows * (yaw * z + roll * (y - pivot.y));
  place.y = y - follows * (pitch * z + roll * (x - pivot.x));
};

/** The maps that the nodes around a place use. */
const usesAround = ({ fields: { uses } }: MapSource, { x, y }: Place): number => {
  const column = clamp(Math.floor(x / CELL), 0, GRID_SIZE - 2);
  const node = clamp(Math.floor(y / CELL), 0, GRID_SIZE - 2) * GRID_SIZE + column;
  const above = (uses[node] as number) | (uses[node + 1] as number);
  return above | (uses[node + GRID_SIZE] as number) | (uses[node + GRID_SIZE + 1] as number);
};

const inHead: Place = { x: 0, y: 0 };
const inUpper: Place = { x: 0, y: 0 };
const inLower: Place = { x: 0, y: 0 };

const setNode = (map: NodeMap, node: number, { x, y }: Place): void => {
  map.x[node] = x;
  map.y[node] = y;
};

/** A frame of a film: the map to it from the photo, and the rows of cells that a pose can change. */
export type FilmPart = { place: Affine; rows: readonly MovingRow[] };

/** Writes the maps of a node of a film. */
const mapFilmNode = (maps: Maps, source: MapSource, place: Affine, node: number): void => {
  const { frame } = source.lips;
  const uses = usesAround(source, inHead);
  undoMove(maps.upperMove, inHead, (uses & USES_UPPER) === 0 ? -1 : UPPER_STEPS, inUpper);
  undoMove(maps.lowerMove, inHead, (uses & USES_LOWER) === 0 ? -1 : LOWER_STEPS, inLower);
  setNode(maps.head, node, inHead);
  setNode(maps.upper, node, inUpper);
  setNode(maps.lower, node, inLower);
  const isBelow = (inHead.y - frame.y) * frame.axisX - (inHead.x - frame.x) * frame.axisY > 0;
  const inPhoto = isBelow && (uses & USES_LOWER) !== 0 ? inLower : inUpper;
  applyAffine(place, inPhoto.x, inPhoto.y, inPhoto);
  setNode(maps.picture, node, inPhoto);
};

/**
 * Computes the maps of a pose in a frame of a film. `head`, `upper` and `lower` lead from the frame to the photo,
 * `picture` back into the frame. Returns false if the pose changes nothing. Unlike the maps of a photo, nodes outside
 * of the part keep their values.
 */
export const updateFilmMaps = (maps: Maps, source: MapSource, pose: Pose, { place, rows }: FilmPart): boolean => {
  const weights = weighExpressions(pose, source.lips);
  const isStill = pose.yaw === 0 && pose.pitch === 0 && pose.roll === 0 && pose.blinkLeft === 0;
  if (isStill && pose.talk === 0 && EXPRESSIONS.every((name) => weights[name] === 0)) return false;
  maps.jaw = weights.jaw + weights.jawRound;
  sumMoves(maps, source.fields, weights);
  const back = invertAffine(place);
  const [top, bottom] = [rows[0]?.row ?? 0, (rows.at(-1)?.row ?? -2) + 1];
  const { first, end } = rows[0] ?? { first: 0, end: -1 };
  for (let row = top; row <= bottom; row++) {
    for (let column = first; column <= end; column++) {
      applyAffine(back, CELL * column, CELL * row, inHead);
      undoHeadAt(source, pose, inHead);
      mapFilmNode(maps, source, place, row * GRID_SIZE + column);
    }
  }
  return true;
};
