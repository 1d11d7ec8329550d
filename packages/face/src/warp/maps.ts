/** The maps of a picture: for each node of the grid, where in the photo it comes from. */
import { clamp, mix, smoothstep } from "../numbers.ts";
import { EXPRESSIONS, type Expression, type Fields, JAW_WAY } from "./fields.ts";
import { CELL, GRID_SIZE, NODE_COUNT, type Place, readMap } from "./grid.ts";
import type { Head } from "./head.ts";
import type { Lips } from "./lips.ts";
import type { Pose } from "./pose.ts";

/** x and y for each node, in pixels. */
export type NodeMap = { x: Float32Array; y: Float32Array };

export type Maps = {
  /** Undoes the movement of the head only. */
  head: NodeMap;
  /** Undoes also the expression: above the seam of the lips, and below it. */
  upper: NodeMap;
  lower: NodeMap;
  /** `upper` above the line of the mouth and `lower` below it. */
  picture: NodeMap;
  /** How far the expression moves each node, forward. */
  upperMove: NodeMap;
  lowerMove: NodeMap;
  /** How far the jaw is open now, as a share of its way. */
  jaw: number;
};

/** Lips that are apart in the photo part less when they speak. */
export const PART_SHARE_OPEN = 0.4;
/** Share of the movement of the breath, in eye distances. */
const BREATH = 0.004;
/** Fixed-point steps that undo a move. Slopes of the fields are below 0.5, so each step halves the error. */
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
 * How much of each expression a pose needs. The opening of the lips is absolute: lips that are apart in the photo close by what
 * is too much, and the jaw only adds what is missing. Otherwise a photo with a smile would gape.
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
    round: pose.round * (1 + 0.5 * smoothstep(0.06, 0.15, inPhoto)),
    close: lips.isOpen ? clamp(1 - gap / inPhoto) : closed,
    press: closed * pose.talk,
    tuck: pose.tuck * (1 - closed),
    smile: pose.smile,
    brow: pose.brow,
  };
};

/** Adds up the fields of the expressions. */
const sumMoves = (maps: Maps, { nodes, basis }: Fields, weights: Float64Array): void => {
  const { upperMove, lowerMove } = maps;
  let at = 0;
  for (let index = 0; index < nodes.length; index++) {
    let [upperX, upperY, lowerX, lowerY] = [0, 0, 0, 0];
    for (let expression = 0; expression < weights.length; expression++, at += 4) {
      const weight = weights[expression] as number;
      upperX += weight * (basis[at] as number);
      upperY += weight * (basis[at + 1] as number);
      lowerX += weight * (basis[at + 2] as number);
      lowerY += weight * (basis[at + 3] as number);
    }
    const node = nodes[index] as number;
    upperMove.x[node] = upperX;
    upperMove.y[node] = upperY;
    lowerMove.x[node] = lowerX;
    lowerMove.y[node] = lowerY;
  }
};

const move: Place = { x: 0, y: 0 };

/** Writes the place that `moves` brings to (x, y). */
const undoMove = (moves: NodeMap, node: number, x: number, y: number, steps: number, into: NodeMap): void => {
  let fromX = x - (moves.x[node] as number);
  let fromY = y - (moves.y[node] as number);
  for (let step = 0; step < steps; step++) {
    readMap(moves.x, moves.y, fromX, fromY, move);
    fromX = x - move.x;
    fromY = y - move.y;
  }
  into.x[node] = fromX;
  into.y[node] = fromY;
};

const copyNode = (from: NodeMap, to: NodeMap, node: number): void => {
  to.x[node] = from.x[node] as number;
  to.y[node] = from.y[node] as number;
};

/** What the maps need of a face. `moving`: the nodes that the head or an expression moves. */
export type MapSource = { eyeDistance: number; lips: Lips; fields: Fields; head: Head; moving: Int32Array };

/** Undoes the movement of the head. Its angles are small: a nearer place moves with the nose. */
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

/** Makes the maps of a pose. */
export const updateMaps = (maps: Maps, source: MapSource, pose: Pose): void => {
  const { lips, fields, moving } = source;
  const weights = weighExpressions(pose, lips);
  maps.jaw = weights.jaw + weights.jawRound;
  sumMoves(
    maps,
    fields,
    Float64Array.from(EXPRESSIONS, (name) => weights[name]),
  );
  undoHead(source, pose, maps.head);
  const { frame } = lips;
  for (let index = 0; index < moving.length; index++) {
    const node = moving[index] as number;
    if (fields.isMoved[node] === 0) {
      copyNode(maps.head, maps.upper, node);
      copyNode(maps.head, maps.lower, node);
      copyNode(maps.head, maps.picture, node);
      continue;
    }
    const x = maps.head.x[node] as number;
    const y = maps.head.y[node] as number;
    undoMove(maps.upperMove, node, x, y, UPPER_STEPS, maps.upper);
    undoMove(maps.lowerMove, node, x, y, LOWER_STEPS, maps.lower);
    const isBelow = (y - frame.y) * frame.axisX - (x - frame.x) * frame.axisY > 0;
    copyNode(isBelow ? maps.lower : maps.upper, maps.picture, node);
  }
};
