/** The light and the colours of the photo, for the inside of the mouth. */
import { clamp } from "../../numbers.ts";
import { PICTURE_SIZE, type Planes } from "../../picture.ts";
import { fromFrame, intoFrame } from "../frame.ts";
import { lumaNear, readPlane } from "../grid.ts";
import { CHEEKS, landmark, SKIN, UPPER_LIP } from "./landmarks.ts";
import type { Lips } from "./lips.ts";

export type Light = {
  /** Luma of the skin in its brighter half, and the chroma of the cheeks. */
  skinY: number;
  skinU: number;
  skinV: number;
  /** Luma and chroma of the lower lip. */
  lipY: number;
  lipU: number;
  lipV: number;
  /** Whether teeth are visible between the lips. */
  hasTeeth: boolean;
};

/** Teeth are brighter than this share of the luma of the skin. The dark inside of a mouth is not. */
const TEETH_LUMA = 0.5;
/** Luma of black. */
export const BLACK = 16;

const meanChroma = (plane: Uint8Array, mesh: Float32Array): number => {
  const size = PICTURE_SIZE / 2;
  const values = CHEEKS.map((index) => {
    const { x, y } = landmark(mesh, index);
    const pixel = (value: number): number => clamp(Math.round(value), 0, PICTURE_SIZE - 1) >> 1;
    return plane[pixel(y) * size + pixel(x)] as number;
  });
  return values.reduce((sum, value) => sum + value, 0) / values.length;
};

/** Mean luma and chroma of the middle of the lower lip. */
const measureLip = ({ y, u, v }: Planes, { frame, lower, lowerHeight, left, right }: Lips) => {
  const size = PICTURE_SIZE / 2;
  const sums = { lipY: 0, lipU: 0, lipV: 0 };
  const shares = [-0.3, -0.15, 0, 0.15, 0.3];
  for (const share of shares) {
    const x = share < 0 ? -share * left : share * right;
    const place = fromFrame(frame, x, lower(x) + lowerHeight / 2);
    sums.lipY += lumaNear(y, place.x, place.y) / shares.length;
    sums.lipU += readPlane(u, size, place.x / 2, place.y / 2) / shares.length;
    sums.lipV += readPlane(v, size, place.x / 2, place.y / 2) / shares.length;
  }
  return sums;
};

/** The mean luma between the lips, or null when they are closed. */
const measureInside = (luma: Uint8Array, mesh: Float32Array, { frame, upper, lower }: Lips): number | null => {
  let [sum, count] = [0, 0];
  for (const index of UPPER_LIP.slice(2, 9)) {
    const { x } = intoFrame(frame, landmark(mesh, index));
    for (let y = upper(x) + 1; y < lower(x) - 1; y += 0.5) {
      const place = fromFrame(frame, x, y);
      sum += lumaNear(luma, place.x, place.y);
      count++;
    }
  }
  return count === 0 ? null : sum / count;
};

export const measureLight = (planes: Planes, mesh: Float32Array, lips: Lips): Light => {
  const { y, u, v } = planes;
  const skin = SKIN.map((index) => landmark(mesh, index)).map((place) => lumaNear(y, place.x, place.y));
  skin.sort((a, b) => a - b);
  const skinY = skin[5] as number;
  const inside = lips.isOpen ? measureInside(y, mesh, lips) : null;
  return {
    skinY,
    skinU: meanChroma(u, mesh),
    skinV: meanChroma(v, mesh),
    ...measureLip(planes, lips),
    hasTeeth: inside !== null && inside - BLACK > TEETH_LUMA * (skinY - BLACK),
  };
};
