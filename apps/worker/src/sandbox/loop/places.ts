/** Where the mouth of the first frame of a loop is in each of its frames. Pure functions. */
import { type Affine, fitAffine } from "@realtime-avatar/face/warp/affine";
import type { Point } from "../measure/faces.ts";
import { FRAMES_PER_SAMPLE } from "./still-part.ts";

/**
 * Points of MediaPipe's face mesh around the mouth: the lips, which are still in the loop, the base of the nose, the chin and
 * the cheeks. They are nearly in one plane, so that an affine map also holds for a head that turns.
 */
const STEADY = [
  ...[61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 185, 40, 39, 37, 0, 267, 269, 270, 409],
  ...[2, 98, 327, 164, 205, 425, 187, 411, 200, 199, 175, 152, 148, 377, 176, 400],
];
/** Weights of three samples: the noise of a mesh is larger than the movement of a head in 80 ms. */
const KERNEL = [0.25, 0.5, 0.25];

const ORIGIN: Point = [0, 0, 0];

/** The mesh at a sample, smoothed over its neighbours. */
export const smoothMesh = (meshes: readonly (readonly Point[])[], at: number): Point[] => {
  const last = meshes.length - 1;
  const around = KERNEL.map((weight, index) => ({
    weight,
    mesh: meshes[Math.min(last, Math.max(0, at + index - 1))] ?? [],
  }));
  return (meshes[at] ?? []).map((_, point): Point => {
    const sum: [number, number, number] = [0, 0, 0];
    for (const { weight, mesh } of around) {
      for (const axis of [0, 1, 2] as const) sum[axis] += weight * (mesh[point] ?? ORIGIN)[axis];
    }
    return sum;
  });
};

const steadyPlaces = (mesh: readonly Point[]) =>
  STEADY.map((point) => mesh[point] ?? ORIGIN).map(([x, y]) => ({ x, y }));

/** The places of the frames of a part with these meshes, from its first sample to its last one. The first is the identity. */
export const findPlaces = (meshes: readonly (readonly Point[])[]): Affine[] => {
  const steady = meshes.map((_, index) => steadyPlaces(smoothMesh(meshes, index)));
  const first = steady[0] ?? [];
  return Array.from({ length: (meshes.length - 1) * FRAMES_PER_SAMPLE + 1 }, (_, frame) => {
    const sample = Math.floor(frame / FRAMES_PER_SAMPLE);
    const share = (frame % FRAMES_PER_SAMPLE) / FRAMES_PER_SAMPLE;
    const [before, after] = [steady[sample] ?? [], steady[sample + 1] ?? steady[sample] ?? []];
    const places = before.map(({ x, y }, index) => ({
      x: x + share * ((after[index]?.x ?? x) - x),
      y: y + share * ((after[index]?.y ?? y) - y),
    }));
    return fitAffine(first, places);
  });
};
