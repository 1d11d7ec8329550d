/**
 * The fields of the expressions: how far each node of the grid moves when an expression is at its maximum. Each field
 * has a part for the upper map, which draws the face above the seam of the lips, and one for the lower map.
 */
import { mix, smoothstep } from "../numbers.ts";
import { intoFrame } from "./frame.ts";
import { CELL, GRID_SIZE, NODE_COUNT, type Place } from "./grid.ts";
import { EYES, landmark } from "./photo/landmarks.ts";
import type { Lips } from "./photo/lips.ts";

/** Expressions in the order of the basis. `jawRound` opens rounded lips: less at their sides. */
export const EXPRESSIONS = [
  "jaw",
  "jawRound",
  "part",
  "wide",
  "round",
  "close",
  "press",
  "tuck",
  "smile",
  "brow",
] as const;
export type Expression = (typeof EXPRESSIONS)[number];

/** The maximum movement of the chin, in eye distances. */
export const JAW_WAY = 0.2;
/** How far the lips part when the jaw holds them apart by 1, lips part by 1, and the lower lip tucks by 1; in eye distances. */
export const JAW_OPENING = 1.1;
export const PART_OPENING = 0.075;
export const TUCK_OPENING = 0.034;
/** The part of `TUCK_OPENING` by which the upper lip moves. */
const UPPER_TUCK = 0.022;
/** The share of the movement of the chin by which the corners of the mouth move. */
const CORNER_SHARE = 0.3;

/** Moves in the frame of the mouth, in eye distances: of the upper map, then of the lower one. */
type Move = readonly [upperX: number, upperY: number, lowerX: number, lowerY: number];

/** The position of a node relative to the mouth and the face. Lengths in pixels. */
type Spot = {
  x: number;
  y: number;
  /** From -1 at the left corner of the mouth to 1 at the right one; and its absolute value. */
  across: number;
  side: number;
  /** From 0 at the corners to 1 in the middle; the same for rounded lips. */
  middle: number;
  middleRound: number;
  /** Distances above the upper edge and below the lower edge of the opening. */
  above: number;
  below: number;
  /** 1 at the mouth, less at its sides. */
  lateral: number;
  /** From 1 at the mouth to 0 at the outline of the face, which must not bend. */
  inFace: number;
  /** From 1 at the lips to 0: at the nose, at the nose for lips only, at the chin. */
  upperFade: number;
  upperLipFade: number;
  lowerLipFade: number;
  /** 1 near the lips, above and below. */
  near: number;
};

type Context = { lips: Lips; eyeDistance: number };

const bell = (value: number): number => Math.exp(-(value ** 2));

/** A cheek of this width, in eye distances, has room for the whole movement of the corner of the mouth. */
const WIDE_CHEEK = 0.35;

/** See `Spot.inFace`. The narrow cheek of a turned face also moves less, because it would fold otherwise. */
const findInFace = (lips: Lips, x: number, eyeDistance: number): number => {
  const [corner, cheek] = x < 0 ? [lips.left, lips.leftCheek] : [lips.right, lips.rightCheek];
  const room = Math.min(1, Math.abs(cheek - corner) / (WIDE_CHEEK * eyeDistance));
  return room * (1 - smoothstep(0, 1, (x - corner) / (cheek - corner)));
};

const findSpot = ({ lips, eyeDistance }: Context, place: Place): Spot => {
  const { x, y } = intoFrame(lips.frame, place);
  const across = x < 0 ? -x / lips.left : x / lips.right;
  const side = Math.abs(across);
  const above = Math.max(0, lips.upper(x) - y);
  const below = Math.max(0, y - lips.lower(x));
  return {
    x,
    y,
    across,
    side,
    middle: Math.max(0, 1 - across ** 2) ** 0.8,
    middleRound: Math.max(0, 1 - (across / 0.8) ** 2) ** 0.9,
    above,
    below,
    inFace: findInFace(lips, x, eyeDistance),
    lateral: side <= 1 ? 1 : bell((side - 1) / 0.75),
    upperFade: 1 - smoothstep(0, lips.nose + 0.16 * eyeDistance, above),
    upperLipFade: 1 - smoothstep(lips.upperHeight * 0.8, lips.nose * 0.98, above),
    lowerLipFade: 1 - smoothstep(lips.lowerHeight * 0.9, lips.chin * 0.72, below),
    near: bell(above / (0.3 * eyeDistance)) * bell(below / (0.34 * eyeDistance)),
  };
};

/** The chin goes down, and the middle of the upper lip a little up. */
const moveJaw = ({ lips, eyeDistance }: Context, spot: Spot, middle: number): Move => {
  const neck = 1 - smoothstep(lips.chin * 0.95, lips.chin * 2.1, spot.below);
  const chin = Math.max(0, 1.04 / (1 + (spot.x / (0.56 * eyeDistance)) ** 4) - 0.04);
  const lip = (CORNER_SHARE + (1 - CORNER_SHARE) * middle) * spot.lateral;
  const lower = mix(lip, 0.9 * chin, smoothstep(0, lips.chin * 0.5, spot.below)) * neck;
  const upper = CORNER_SHARE * (1 - middle) * spot.lateral * spot.upperFade - 0.1 * middle * spot.upperLipFade;
  return [0, JAW_WAY * upper, 0, JAW_WAY * lower];
};

const movePart = (spot: Spot): Move => [
  0,
  -0.03 * spot.middle * spot.upperLipFade,
  0,
  0.045 * spot.middle * spot.lowerLipFade,
];

/**
 * How far a place moves when the corners of the mouth move along the mouth by 1. The movement fades over the cheeks.
 */
const alongMouth = ({ across, side, near, inFace }: Spot): number =>
  Math.sign(across) * (side <= 1 ? side ** 1.3 : bell((side - 1) / 0.7)) * near * inFace;

/** The cheeks beside the nose rise when the corners go out. */
const raiseCheek = (spot: Spot, eyeDistance: number): number =>
  -0.02 * bell((spot.side - 1.25) / 0.5) * bell((spot.above - 0.2 * eyeDistance) / (0.18 * eyeDistance)) * spot.inFace;

const moveWide = ({ eyeDistance }: Context, spot: Spot): Move => {
  const along = 0.055 * alongMouth(spot);
  const corners = -0.008 * (1 - spot.middle) * spot.near * spot.lateral;
  const upper = corners + raiseCheek(spot, eyeDistance);
  return [along, upper, along, corners - 0.006 * spot.middle * spot.lowerLipFade];
};

/** Protruded lips are thicker. The largest movement is at the outer edge of a lip of this height. */
const bulge = (distance: number, height: number): number => {
  const share = distance / height;
  return share < 1 ? Math.sin((Math.PI / 2) * share) : bell((share - 1) / 0.8);
};

const moveRound = ({ lips }: Context, spot: Spot): Move => {
  const along = -0.08 * alongMouth(spot);
  const upper = -0.024 * spot.middleRound * bulge(spot.above, lips.upperHeight);
  const lower = 0.028 * spot.middleRound * bulge(spot.below, lips.lowerHeight);
  return [along, upper, along, lower];
};

/**
 * Lips that are apart in the photo meet after this share of the gap for the upper lip. The jaw brings the lower one. A smile whose
 * upper lip goes further no longer looks like the same person.
 */
const UPPER_CLOSE = 0.25;

/** Both lips move to a line between their curves in the photo. */
const moveClose = ({ lips, eyeDistance }: Context, spot: Spot): Move => {
  const gap = spot.side <= 1.02 ? Math.max(0, lips.lower(spot.x) - lips.upper(spot.x)) / eyeDistance : 0;
  const upper = 1 - smoothstep(lips.upperHeight * 0.6, lips.nose * 1.05, spot.above);
  const lower = 1 - smoothstep(lips.lowerHeight, lips.chin * 0.95, spot.below);
  return [0, UPPER_CLOSE * gap * upper, 0, -(1 - UPPER_CLOSE) * gap * lower];
};

const movePress = ({ lips }: Context, spot: Spot): Move => [
  0,
  0.012 * spot.middle * Math.max(0, 1 - spot.above / lips.upperHeight),
  0,
  -0.016 * spot.middle * Math.max(0, 1 - spot.below / (1.2 * lips.lowerHeight)),
];

/** The upper lip shows the teeth. The lower lip rolls in: its edge meets the teeth, and its red is thinner. */
const moveTuck = ({ lips }: Context, spot: Spot): Move => {
  const thin = smoothstep(0, lips.lowerHeight, spot.below);
  const chin = 1 - smoothstep(lips.lowerHeight * 1.2, lips.chin * 0.9, spot.below);
  const lower = mix(TUCK_OPENING - UPPER_TUCK, -0.026, thin) * spot.middle * chin;
  return [0, -UPPER_TUCK * spot.middle * spot.upperLipFade, 0, lower];
};

/** The corners move out and up, and the cheeks move with them. */
const moveSmile = ({ lips, eyeDistance }: Context, spot: Spot): Move => {
  const height = (spot.y - lips.upper(spot.x)) / (0.3 * eyeDistance);
  const far = spot.side <= 1 ? spot.side ** 2 : bell((spot.side - 1) / 0.7);
  const near = far * bell(height) * spot.inFace;
  return [0.05 * Math.sign(spot.across) * near, -0.036 * near, 0.05 * Math.sign(spot.across) * near, -0.036 * near];
};

/** The brows rise. The lids of the eyes do not. */
const createBrowMove = ({ lips, eyeDistance }: Context, mesh: Float32Array): ((place: Place) => Move) => {
  const brows = EYES.flatMap(({ brow }) => brow.map((index) => landmark(mesh, index)));
  const lids = EYES.map(({ upper }) => landmark(mesh, upper[4]));
  return (place) => {
    const { y } = intoFrame(lips.frame, place);
    let distance = Number.POSITIVE_INFINITY;
    for (const brow of brows) distance = Math.min(distance, Math.hypot(place.x - brow.x, place.y - brow.y));
    if (distance > 0.5 * eyeDistance) return [0, 0, 0, 0];
    const aboveLids = lids.map((lid) => {
      if (Math.abs(place.x - lid.x) >= 0.4 * eyeDistance) return 1;
      return smoothstep(-0.02 * eyeDistance, -0.13 * eyeDistance, y - intoFrame(lips.frame, lid).y);
    });
    const move = -0.035 * bell(distance / (0.16 * eyeDistance)) * Math.min(...aboveLids);
    return [0, move, 0, move];
  };
};

/** The nodes that an expression moves, and for each four numbers in pixels: x and y of the upper map and of the lower one. */
export type Field = { nodes: Int32Array; moves: Float32Array };

/** Which maps are read at a node: the one above the lips, the one below, or both near the lips. */
export const USES_UPPER = 1;
export const USES_LOWER = 2;

export type Fields = {
  /** In the order of `EXPRESSIONS`. */
  expressions: readonly Field[];
  /** For each node of the grid: 0 if no expression moves it, otherwise the maps that are read there. */
  uses: Uint8Array;
  upperNodes: Int32Array;
  lowerNodes: Int32Array;
};

/** The largest movement that changes no value of a pixel, in eye distances. */
const LEAST_MOVE = 1e-4;
/** Both maps are read up to this distance from the lips, in eye distances. */
const NEAR_LIPS = 0.16;

const isMove = (move: Move): boolean => move.reduce((sum, part) => sum + Math.abs(part), 0) > LEAST_MOVE;

const moveAll = (context: Context, spot: Spot): Record<Exclude<Expression, "brow">, Move> => ({
  jaw: moveJaw(context, spot, spot.middle),
  jawRound: moveJaw(context, spot, spot.middleRound),
  part: movePart(spot),
  wide: moveWide(context, spot),
  round: moveRound(context, spot),
  close: moveClose(context, spot),
  press: movePress(context, spot),
  tuck: moveTuck(context, spot),
  smile: moveSmile(context, spot),
});

/** The box outside of which no expression moves a place. */
const isInReach = ({ lips, eyeDistance }: Context, place: Place): boolean => {
  const { x, y } = intoFrame(lips.frame, place);
  return Math.abs(x) < 1.3 * eyeDistance && y > -1.8 * eyeDistance && y < 2.1 * lips.chin + NEAR_LIPS * eyeDistance;
};

/** Creates the fields of a face. */
export const createFields = (lips: Lips, mesh: Float32Array, eyeDistance: number): Fields => {
  const context = { lips, eyeDistance };
  const moveBrow = createBrowMove(context, mesh);
  const { axisX, axisY } = lips.frame;
  const xs = [-1, -0.5, 0, 0.5, 1].map((share) => (share < 0 ? -share * lips.left : share * lips.right));
  const highest = Math.min(...xs.map(lips.upper)) - NEAR_LIPS * eyeDistance;
  const lowest = Math.max(...xs.map(lips.lower)) + NEAR_LIPS * eyeDistance;
  const uses = new Uint8Array(NODE_COUNT);
  const lists = EXPRESSIONS.map(() => ({ nodes: [] as number[], moves: [] as number[] }));
  for (let node = 0; node < NODE_COUNT; node++) {
    const place = { x: CELL * (node % GRID_SIZE), y: CELL * Math.floor(node / GRID_SIZE) };
    if (!isInReach(context, place)) continue;
    const spot = findSpot(context, place);
    const moves: Record<Expression, Move> = { ...moveAll(context, spot), brow: moveBrow(place) };
    EXPRESSIONS.forEach((name, index) => {
      const move = moves[name];
      if (!isMove(move)) return;
      const [upperX, upperY, lowerX, lowerY] = move.map((part) => part * eyeDistance) as unknown as Move;
      lists[index]?.nodes.push(node);
      lists[index]?.moves.push(upperX * axisX - upperY * axisY, upperX * axisY + upperY * axisX);
      lists[index]?.moves.push(lowerX * axisX - lowerY * axisY, lowerX * axisY + lowerY * axisX);
      uses[node] = (spot.y < lowest ? USES_UPPER : 0) | (spot.y > highest ? USES_LOWER : 0);
    });
  }
  const expressions = lists.map(({ nodes, moves }) => ({
    nodes: Int32Array.from(nodes),
    moves: Float32Array.from(moves),
  }));
  const nodesOf = (map: number) =>
    Int32Array.from({ length: NODE_COUNT }, (_, node) => node).filter((node) => ((uses[node] as number) & map) !== 0);
  return { expressions, uses, upperNodes: nodesOf(USES_UPPER), lowerNodes: nodesOf(USES_LOWER) };
};
