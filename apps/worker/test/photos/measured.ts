/** Measures variations of photographs like the child process of the worker, in a separate process: see `loadFaces`. */
import type { Check } from "@realtime-avatar/domain/avatars/checks";
import sharp from "sharp";
import { faceChecks } from "../../src/preparation/checks.ts";
import { loadFaces } from "../../src/sandbox/measure/faces.ts";
import { decodePicture, measurePicture } from "../../src/sandbox/measure/picture.ts";
import type { FaceCode, Variation } from "./variations.ts";

/** `checks`: those that could be made. Without exactly one face, this is only the count. */
export type Measured = Omit<Variation, "make"> & { checks: Partial<Record<FaceCode, Check>> };

const MAX_PIXELS = 40_000_000;

/** Measures all variations, one after the other. It takes 200 ms for each. */
export const measureAll = async (variations: readonly Variation[]): Promise<Measured[]> => {
  const { start } = await loadFaces();
  const findFaces = await start();
  const results: Measured[] = [];
  for (const { make, ...rest } of variations) {
    const picture = await decodePicture(sharp, await make(), MAX_PIXELS);
    const { measures } = await measurePicture(sharp, findFaces, picture);
    const { width, height } = picture;
    const checks = faceChecks("image", { kind: "accepted", width, height, ...measures });
    results.push({ ...rest, checks: Object.fromEntries(checks.map((check) => [check.code, check])) });
  }
  return results;
};

/** Whether the picture would make an avatar: no check failed. */
export const isAccepted = ({ checks }: Measured): boolean =>
  Object.values(checks).every(({ verdict }) => verdict !== "fail");
