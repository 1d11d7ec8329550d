/** The head as a solid: how deep each node of the grid lies, and how much it follows the movement of the head. */
import { mix, smoothstep } from "../numbers.ts";
import { PICTURE_SIZE } from "../picture.ts";
import { CELL, GRID_SIZE, NODE_COUNT, type Place } from "./grid.ts";
import { LANDMARK, LANDMARK_COUNT, landmark, OVAL, type Point } from "./photo/landmarks.ts";

export type Head = {
  /** From the forehead to the chin, in pixels. */
  height: number;
  /** The head turns around this place. */
  pivot: Place;
  /** For each node: its depth in pixels. Smaller is nearer. */
  depth: Float32Array;
  /** For each node: 1 if it moves with the head, 0 if it stays. */
  share: Float32Array;
};

/** A node that moves less than this stays. */
const LEAST_SHARE = 0.002;
/** Landmarks blur into the depth of a node over this share of the height of the head. */
const DEPTH_BLUR = 0.1;
/**
 * The head turns around an axis at this share of the depth of the ears. This is close to the depth of the background,
 * so that turning the head does not bend the background.
 */
const AXIS = 0.95;
/** A landmark whose squared distance is larger than this, in units of the blur, has no weight. */
const FARTHEST = 12;
/** The margin of the picture in which nothing moves, as a share of the picture. */
const STILL_EDGE = 0.1;
/** The margin at the lower edge, in pixels. */
const STILL_BOTTOM = 60;

/** The outline of the face as an ellipse. */
type Oval = { center: Place; height: number; halfWidth: number; downX: number; downY: number };

const fitOval = (mesh: Float32Array): Oval => {
  const outline = OVAL.map((index) => landmark(mesh, index));
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const center = { x: mean(outline.map(({ x }) => x)), y: mean(outline.map(({ y }) => y)) };
  const [forehead, chin] = [landmark(mesh, LANDMARK.forehead), landmark(mesh, LANDMARK.chin)];
  const height = Math.hypot(chin.x - forehead.x, chin.y - forehead.y);
  const [downX, downY] = [(chin.x - forehead.x) / height, (chin.y - forehead.y) / height];
  const halfWidth = Math.max(...outline.map(({ x, y }) => Math.abs((x - center.x) * downY - (y - center.y) * downX)));
  return { center, height, halfWidth, downX, downY };
};

/** From 1 in the oval to 0 at 1.55 half ovals above, where hair is, and 1.8 below, where the neck is. */
const findShare = ({ center, height, halfWidth, downX, downY }: Oval, x: number, y: number): number => {
  const along = ((x - center.x) * downX + (y - center.y) * downY) / (height / 2);
  const across = ((x - center.x) * downY - (y - center.y) * downX) / halfWidth;
  const distance = Math.hypot(across / 1.35, along < 0 ? along / 1.5 : along / 1.15);
  const edge = smoothstep(0, 1, Math.min(x, PICTURE_SIZE - x, y) / (STILL_EDGE * PICTURE_SIZE));
  const bottom = smoothstep(0, STILL_BOTTOM, PICTURE_SIZE - y);
  return (1 - smoothstep(1, along < 0 ? 1.55 : 1.8, distance)) * edge * bottom;
};

/** The depth of a place: that of the landmarks near it, and behind the face that of the ears. */
const findDepth = (points: readonly Point[], ears: number, blur: number, x: number, y: number): number => {
  let sum = 0;
  let weights = 0;
  for (const point of points) {
    const distance = ((x - point.x) ** 2 + (y - point.y) ** 2) / blur ** 2;
    if (distance > FARTHEST) continue;
    const weight = Math.exp(-distance);
    sum += weight * point.z;
    weights += weight;
  }
  const back = ears * 1.1;
  const near = weights > 1e-6 ? sum / weights : back;
  return mix(back, near, weights / (weights + 0.15)) - ears * AXIS;
};

/** Creates the head of a mesh. */
export const createHead = (mesh: Float32Array): Head => {
  const oval = fitOval(mesh);
  // Every second landmark is enough for the depth.
  const points = Array.from({ length: LANDMARK_COUNT / 2 }, (_, index) => landmark(mesh, 2 * index));
  const ears = (landmark(mesh, LANDMARK.earLeft).z + landmark(mesh, LANDMARK.earRight).z) / 2;
  const depth = new Float32Array(NODE_COUNT);
  const share = new Float32Array(NODE_COUNT);
  for (let node = 0; node < NODE_COUNT; node++) {
    const [x, y] = [CELL * (node % GRID_SIZE), CELL * Math.floor(node / GRID_SIZE)];
    const follows = findShare(oval, x, y);
    if (follows <= LEAST_SHARE) continue;
    share[node] = follows;
    depth[node] = findDepth(points, ears, DEPTH_BLUR * oval.height, x, y);
  }
  const chin = landmark(mesh, LANDMARK.chin);
  const pivot = { x: mix(oval.center.x, chin.x, 0.75), y: chin.y + 0.1 * oval.height };
  return { height: oval.height, pivot, depth, share };
};
