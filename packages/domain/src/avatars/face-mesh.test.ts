import { expect, test } from "bun:test";
import { encodeMesh, MESH_PATTERN, MESH_POINTS, manifestFace, readMesh } from "./face-mesh.ts";

const points = Array.from({ length: MESH_POINTS }, (_, index) => [index, 511 - index, (1 - index) / 16]);
const manifest = (mesh: string) => ({ format: 1, face: manifestFace(mesh) });

test("a mesh, written and read: the same points to a sixteenth of a pixel", () => {
  const text = encodeMesh(points);
  expect(text).toMatch(new RegExp(MESH_PATTERN));
  expect([...(readMesh(manifest(text), 512, 512) ?? [])]).toEqual(points.flat());
});

test("a mesh, of an image of 1024 pixels: scaled to the picture", () => {
  expect([...(readMesh(manifest(encodeMesh(points, 2)), 1024, 512) ?? [])]).toEqual(points.flat());
});

test("a mesh, with numbers that 16 bits cannot hold: bounded, so that each point stays near its place", () => {
  const far = points.map(([x = 0, y = 0]) => [x, y, Number.NaN]);
  far[0] = [1e9, -1e9, Number.POSITIVE_INFINITY];
  expect([...(readMesh(manifest(encodeMesh(far)), 4096, 4096) ?? [1])].slice(0, 3)).toEqual([1]);
  far[0] = [1, 2, Number.POSITIVE_INFINITY];
  expect([...(readMesh(manifest(encodeMesh(far)), 512, 512) ?? [])].slice(0, 6)).toEqual([1, 2, 2047.9375, 1, 510, 0]);
});

test("a mesh, of 467 points: not written", () => {
  expect(() => encodeMesh(points.slice(1))).toThrow("A mesh has 468 points.");
});

const good = encodeMesh(points);
test.each([
  ["without a manifest", null],
  ["without a face", { format: 1 }],
  ["with a face that is no object", { face: null }],
  ["of another version", { face: { version: 2, mesh: good } }],
  ["without a mesh", { face: { version: 1 } }],
  ["with a mesh of 467 points", manifest(good.slice(0, -8))],
  ["with a mesh that is no base64", manifest(good.replace(/^./, "*"))],
  ["with a point left of the picture", manifest(encodeMesh(points.with(7, [-1, 5, 0])))],
  ["with a point below the picture", manifest(encodeMesh(points.with(7, [5, 513, 0])))],
])("a manifest, %s: no mesh", (_, value) => {
  expect(readMesh(value, 512, 512)).toBeNull();
});
