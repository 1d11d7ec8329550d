/** Whether the landmarks of a mesh can be those of a face. */
import { LANDMARK, LANDMARK_COUNT, landmark } from "./landmarks.ts";

/** Smaller eyes cannot be drawn. In pixels, between their outer corners. */
const MIN_EYE_DISTANCE = 24;

/** Throws a RangeError unless a mesh has 468 points, with eyes, nose, mouth and chin in their order. */
export const checkMesh = (mesh: Float32Array): void => {
  if (mesh.length !== 3 * LANDMARK_COUNT) throw new RangeError(`The mesh has ${mesh.length} numbers.`);
  if (!mesh.every(Number.isFinite)) throw new RangeError("The mesh has values that are not finite.");
  const [left, right] = [landmark(mesh, LANDMARK.eyeOuterLeft), landmark(mesh, LANDMARK.eyeOuterRight)];
  const [acrossX, acrossY] = [right.x - left.x, right.y - left.y];
  if (!(Math.hypot(acrossX, acrossY) >= MIN_EYE_DISTANCE)) throw new RangeError("The eyes of the mesh are too near.");
  const across = (index: number): number => {
    const { x, y } = landmark(mesh, index);
    return (x - left.x) * acrossX + (y - left.y) * acrossY;
  };
  const down = (index: number): number => {
    const { x, y } = landmark(mesh, index);
    return (y - left.y) * acrossX - (x - left.x) * acrossY;
  };
  const { forehead, eyeOuterRight, noseBase, upperLipTop, lowerLipBottom, chin, mouthLeft, mouthRight } = LANDMARK;
  const heights = [forehead, eyeOuterRight, noseBase, upperLipTop, lowerLipBottom, chin].map(down);
  const isOrdered = heights.every((height, index) => index === 0 || height > (heights[index - 1] as number));
  if (!isOrdered || across(mouthLeft) >= across(mouthRight)) throw new RangeError("The mesh is not that of a face.");
};
