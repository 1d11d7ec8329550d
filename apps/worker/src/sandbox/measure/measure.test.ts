/** The measuring functions, on computed faces and pictures with known values. */
import { describe, expect, test } from "bun:test";
import type { Face, Point } from "./faces.ts";
import {
  brightness,
  countedFaces,
  edgeDistance,
  faceBox,
  facePitch,
  faceRoll,
  faceSize,
  faceYaw,
  type Grey,
  measureSharpness,
  SHARPNESS_HEIGHT,
} from "./measure.ts";

type Pose = {
  yaw?: number;
  pitch?: number;
  roll?: number;
  x?: number;
  y?: number;
  height?: number;
  confidence?: number;
};

const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** Turns a point of a head by yaw, pitch and roll, in this order, as seen by the camera. */
const turned = ([x, y, z]: Point, { yaw = 0, pitch = 0, roll = 0 }: Pose): Point => {
  const [a, b, c] = [radians(yaw), radians(pitch), radians(roll)];
  const [x1, z1] = [x * Math.cos(a) - z * Math.sin(a), x * Math.sin(a) + z * Math.cos(a)];
  const [y2, z2] = [y * Math.cos(b) - z1 * Math.sin(b), y * Math.sin(b) + z1 * Math.cos(b)];
  return [x1 * Math.cos(c) - y2 * Math.sin(c), x1 * Math.sin(c) + y2 * Math.cos(c), z2];
};

/** A face whose ears, corners of the eyes and of the mouth, forehead and chin are placed; the other points are in the middle. */
const face = (pose: Pose = {}): Face => {
  const { x = 500, y = 500, height = 400, confidence = 0.9 } = pose;
  const mesh = new Array<Point>(468).fill([x, y, 0]);
  const place = (index: number, point: Point): void => {
    const [dx, dy, dz] = turned(point, pose);
    mesh[index] = [x + height * dx, y + height * dy, height * dz];
  };
  for (const [left, right, width, up] of [
    [454, 234, 0.4, -0.1],
    [323, 93, 0.38, 0],
    [361, 132, 0.37, 0.1],
    [263, 33, 0.25, -0.1],
    [362, 133, 0.1, -0.1],
    [291, 61, 0.12, 0.3],
  ] as const) {
    place(left, [width, up, 0]);
    place(right, [-width, up, 0]);
  }
  // The mesh of a face that looks straight ahead leans by 11°.
  const lean = 0.5 * Math.tan(radians(11));
  place(10, [0, -0.5, -lean]);
  place(152, [0, 0.5, lean]);
  return { detectorConfidence: confidence, meshConfidence: 1, mesh };
};

const grey = (width: number, height: number, valueAt: (x: number, y: number) => number): Grey => ({
  width,
  height,
  data: Uint8Array.from({ length: width * height }, (_, at) => valueAt(at % width, Math.floor(at / width))),
});

describe("the pose", () => {
  test.each([-40, -25, -10, 0, 10, 25, 40])("the yaw, of %d° at any roll: measured", (yaw) => {
    for (const roll of [-60, 0, 30, 90]) expect(faceYaw(face({ yaw, roll }))).toBeCloseTo(yaw, 3);
  });

  test.each([-170, -90, -30, 0, 30, 90, 170])("the roll, of %d°: measured", (roll) => {
    expect(faceRoll(face({ roll }))).toBeCloseTo(roll, 3);
    expect(Math.abs(faceRoll(face({ roll, yaw: 20, pitch: 10 })) - roll)).toBeLessThan(5);
  });

  test.each([-30, -20, 0, 20, 30])("the pitch, of %d° at any roll: measured", (pitch) => {
    for (const roll of [-60, 0, 30, 90]) expect(facePitch(face({ pitch, roll }))).toBeCloseTo(pitch, 3);
  });

  test("yaw and pitch, together: within a few degrees", () => {
    const both = face({ yaw: 25, pitch: 15 });
    expect(Math.abs(faceYaw(both) - 25)).toBeLessThan(3);
    expect(Math.abs(facePitch(both) - 15)).toBeLessThan(3);
  });
});

describe("the place of a face", () => {
  const picture = { width: 1000, height: 1000 };

  test("the size of a face, in pictures of two heights: in percent of the height", () => {
    expect(faceSize(face(), picture)).toBeCloseTo(40, 0);
    expect(faceSize(face(), { width: 1000, height: 2000 })).toBeCloseTo(20, 0);
  });

  test("the distance from an edge, at each edge: in percent of the face's height", () => {
    expect(edgeDistance(face(), picture)).toBeCloseTo(75, 0);
    for (const at of [{ x: 200 }, { x: 800 }]) expect(edgeDistance(face(at), picture)).toBeCloseTo(10, 0);
    for (const at of [{ y: 240 }, { y: 760 }]) expect(edgeDistance(face(at), picture)).toBeCloseTo(10, 0);
    expect(edgeDistance(face({ y: 160 }), picture)).toBeCloseTo(-10, 0);
  });
});

describe("the count of faces", () => {
  const count = (...faces: Face[]): number => countedFaces(faces).length;

  test("the count, two sure faces beside each other: two", () => {
    expect(count()).toBe(0);
    expect(count(face())).toBe(1);
    expect(count(face({ x: 300 }), face({ x: 700 }))).toBe(2);
  });

  test("the count, a second face that is unsure or inside the first: one", () => {
    expect(count(face({ x: 300 }), face({ x: 700, confidence: 0.45 }))).toBe(1);
    expect(count(face(), face({ x: 540, y: 450, height: 200 }))).toBe(1);
  });

  test("the count, one unsure face: one, and the most confident comes first", () => {
    expect(count(face({ confidence: 0.35 }))).toBe(1);
    const [first] = countedFaces([face({ x: 300, confidence: 0.6 }), face({ x: 700, confidence: 0.8 })]);
    expect(first?.detectorConfidence).toBe(0.8);
  });

  test("a face, without size or points: no error", () => {
    expect(count(face({ height: 0 }), face({ height: 0 }))).toBe(1);
    expect(faceBox(face({ height: 0 }))).toEqual({ left: 500, top: 500, right: 501, bottom: 501 });
  });
});

describe("the light", () => {
  test("brightness, of a face's ellipse: the luma that a tenth exceeds, not the corners", () => {
    expect(brightness(grey(90, 100, () => 51))).toBeCloseTo(20, 5);
    // White corners outside of the ellipse.
    expect(
      brightness(grey(90, 100, (x, y) => (Math.min(x, 89 - x) + Math.min(y, 99 - y) < 20 ? 255 : 51))),
    ).toBeCloseTo(20, 5);
    // Columns in the middle: of 4 % and of 16 % of the ellipse.
    expect(brightness(grey(100, 100, (x) => (Math.abs(x - 49.5) < 2 ? 204 : 51)))).toBeCloseTo(20, 5);
    expect(brightness(grey(100, 100, (x) => (Math.abs(x - 49.5) < 7 ? 204 : 51)))).toBeCloseTo(80, 5);
  });

  const height = SHARPNESS_HEIGHT;
  const wave = (at: number, period: number): number => Math.sin((2 * Math.PI * at) / period);

  test("sharpness, with blur, contrast and light changed: falls only with blur", () => {
    const waves = (period: number, contrast: number, light: number) =>
      measureSharpness(grey(100, height, (x, y) => light + 0.5 * contrast * (wave(x, period) + wave(y, period))));
    const [fine, medium, coarse] = [waves(4, 80, 128), waves(10, 80, 128), waves(40, 80, 128)];
    expect(fine).toBeGreaterThan(4 * medium);
    expect(medium).toBeGreaterThan(4 * coarse);
    expect(waves(10, 60, 100) / medium).toBeCloseTo(1, 1);
    expect(measureSharpness(grey(100, height, () => 128))).toBe(0);
  });

  test("sharpness, blurred in one direction: that of the least sharp direction", () => {
    const inDirections = [
      (x: number, _y: number) => x,
      (_x: number, y: number) => y,
      (x: number, y: number) => x + y,
      (x: number, y: number) => x - y,
    ].map((along) => measureSharpness(grey(100, height, (x, y) => 128 + 80 * wave(along(x, y), 8))));
    for (const sharpness of inDirections) expect(sharpness).toBeLessThan(1);
  });

  test("a picture, one or two pixels wide: 0, no error", () => {
    for (const size of [1, 2]) {
      expect([brightness(grey(size, size, () => 9)), measureSharpness(grey(size, size, () => 9))]).toEqual([0, 0]);
    }
  });
});
