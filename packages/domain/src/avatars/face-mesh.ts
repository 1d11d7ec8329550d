/**
 * The mesh of a face in the manifest of a preparation: `"face": { "version": 1, "mesh": "…" }`. The mesh is base64 of
 * 468 × 3 numbers (x, y, z) with 16 bits and a sign, little-endian, in sixteenths of a pixel of the normalized image. A
 * smaller z is nearer. The points are those of MediaPipe's face mesh, in its order.
 */

export const MESH_POINTS = 468;
const NUMBERS = 3 * MESH_POINTS;
const UNITS_PER_PIXEL = 16;
const VERSION = 1;
const [MIN, MAX] = [-(2 ** 15), 2 ** 15 - 1];

/** The form of a mesh as base64: 2,808 bytes are 3,744 characters without padding. */
export const MESH_PATTERN = `^[A-Za-z0-9+/]{${(8 * NUMBERS) / 3}}$`;
const MESH = new RegExp(MESH_PATTERN);

/** The mesh as base64. `scale`: pixels of the normalized image per unit of `points`. */
export const encodeMesh = (points: readonly (readonly number[])[], scale = 1): string => {
  if (points.length !== MESH_POINTS) throw new Error(`A mesh has ${MESH_POINTS} points.`);
  const bytes = Buffer.alloc(2 * NUMBERS);
  points.flat().forEach((value, index) => {
    const units = Math.round(UNITS_PER_PIXEL * scale * value);
    bytes.writeInt16LE(Math.min(MAX, Math.max(MIN, units || 0)), 2 * index);
  });
  return bytes.toString("base64");
};

/** The member `face` of a manifest. */
export const manifestFace = (mesh: string) => ({ version: VERSION, mesh });

/**
 * The mesh of a manifest: x, y, z of each point, in pixels of a picture of `side` × `side`, to which the normalized
 * image of `normalizedSide` is scaled. Null without a face, for another version, for bytes of another length, and for
 * points outside of the picture.
 */
export const readMesh = (
  manifest: Readonly<Record<string, unknown>> | null,
  normalizedSide: number,
  side: number,
): Float32Array | null => {
  const { version, mesh } = (manifest?.["face"] ?? {}) as { version?: unknown; mesh?: unknown };
  if (version !== VERSION || typeof mesh !== "string" || !MESH.test(mesh)) return null;
  const bytes = Buffer.from(mesh, "base64");
  const scale = side / normalizedSide / UNITS_PER_PIXEL;
  const numbers = Float32Array.from({ length: NUMBERS }, (_, index) => scale * bytes.readInt16LE(2 * index));
  const isInside = numbers.every((value, index) => index % 3 === 2 || (value >= 0 && value <= side));
  return isInside ? numbers : null;
};
