import { expect, test } from "bun:test";
import { readMesh } from "../../testing/photo-testing.ts";
import { checkMesh } from "./check-mesh.ts";

const mesh = await readMesh("closed");

/** The mesh, turned around the middle of the picture, or scaled. */
const transform = (degrees: number, scale = 1): Float32Array => {
  const [cos, sin] = [scale * Math.cos((degrees * Math.PI) / 180), scale * Math.sin((degrees * Math.PI) / 180)];
  return mesh.map((value, index) => {
    if (index % 3 === 2) return scale * value;
    const [x, y] = [(mesh[index - (index % 3)] ?? 0) - 256, (mesh[index - (index % 3) + 1] ?? 0) - 256];
    return index % 3 === 0 ? 256 + cos * x - sin * y : 256 + sin * x + cos * y;
  });
};

test("the mesh of a face, upright or tilted: accepted", async () => {
  for (const degrees of [-40, 0, 40, 90]) checkMesh(transform(degrees));
  checkMesh(await readMesh("smile"));
});

test.each([
  ["of 467 points", mesh.slice(3)],
  ["with all points at one place", mesh.map(() => 256)],
  ["with NaN coordinates", mesh.map(() => Number.NaN)],
  ["too small to draw", transform(0, 0.1)],
  ["with its points in reverse", mesh.toReversed()],
  ["with only its points upside down", mesh.map((value, index) => (index % 3 === 1 ? 512 - value : value))],
  ["mirrored", mesh.map((value, index) => (index % 3 === 0 ? 512 - value : value))],
])("a mesh %s: refused", (_, wrong) => {
  expect(() => checkMesh(wrong)).toThrow(RangeError);
});
