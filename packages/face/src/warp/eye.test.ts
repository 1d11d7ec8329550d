import { expect, test } from "bun:test";
import { planesFrom } from "../picture.ts";
import { openTestFace, readMesh, type TestFace } from "../testing/photo-testing.ts";
import { drawFace } from "./face.ts";
import type { Frame } from "./frame.ts";
import { lumaNear, type Place } from "./grid.ts";
import { EYES, landmark } from "./photo/landmarks.ts";
import { REST } from "./pose.ts";

/**
 * The pupils in the photo of a turned head, located by a person, and the extent of the iris with the white beside it.
 * In pixels.
 */
const PUPILS: readonly Place[] = [
  { x: 205.5, y: 244 },
  { x: 275.5, y: 220.5 },
];
const REACH = 10;

/** The largest difference of luma through a pupil, along the eye. */
const measureContrast = (luma: Uint8Array, { x, y }: Place, { axisX, axisY }: Frame): number => {
  const values = Array.from({ length: 2 * REACH + 1 }, (_, index) => {
    const along = index - REACH;
    return lumaNear(luma, x + along * axisX, y + along * axisY);
  });
  return Math.max(...values) - Math.min(...values);
};

test("a turned head whose far eye lies beside its landmarks, lids shut: no iris shows in either eye", async () => {
  const face = await openTestFace("turned");
  const shut = planesFrom(drawFace(face, { ...REST, blinkLeft: 1, blinkRight: 1 }));
  for (const [index, { frame }] of face.eyes.entries()) {
    const pupil = PUPILS[index] as Place;
    const inPhoto = measureContrast(face.photo.y, pupil, frame);
    expect(inPhoto).toBeGreaterThan(90);
    expect(measureContrast(shut.y, pupil, frame)).toBeLessThan(inPhoto / 3);
  }
});

test("eyes at their landmarks: the landmarks are kept", async () => {
  for (const name of ["closed", "smile"] satisfies TestFace[]) {
    const mesh = await readMesh(name);
    const { eyes } = await openTestFace(name);
    for (const [index, { upper }] of EYES.entries()) {
      const [left, right] = [landmark(mesh, upper[0]), landmark(mesh, upper[8])];
      expect(eyes[index]?.frame.x).toBeCloseTo((left.x + right.x) / 2);
      expect(eyes[index]?.frame.y).toBeCloseTo((left.y + right.y) / 2);
    }
  }
});
