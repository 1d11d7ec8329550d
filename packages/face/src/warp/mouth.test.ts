import { describe, expect, test } from "bun:test";
import { poseShape } from "../life/mouth.ts";
import { mix } from "../numbers.ts";
import { PICTURE_SIZE, type Planes, planesFrom } from "../picture.ts";
import { openTestFace } from "../testing/photo-testing.ts";
import type { Shape } from "../visemes.ts";
import { type Edges, findEdges } from "./edges.ts";
import { drawFace, type Face } from "./face.ts";
import { fromFrame } from "./frame.ts";
import { readPlane } from "./grid.ts";
import { BLACK } from "./photo/light.ts";
import { REST } from "./pose.ts";

const FACE = await openTestFace("closed");
const SMILE = await openTestFace("smile");
const NEUTRAL: Shape = { open: 0, wide: 0, round: 0, closed: 0, tuck: 0, tongue: 0, level: 0 };

type DrawnMouth = { edges: Edges; planes: Planes };

/** A picture of a face with this shape of the mouth, and the edges of its lips. */
const draw = (face: Face, shape: Partial<Shape>): DrawnMouth => {
  const planes = planesFrom(drawFace(face, { ...REST, ...poseShape({ ...NEUTRAL, ...shape }, face.lips), talk: 1 }));
  return { edges: findEdges(face.lips, face.maps), planes };
};

/** In eye distances. */
const gap = (face: Face, shape: Partial<Shape>): number => draw(face, shape).edges.gap / face.eyeDistance;
const width = (face: Face, shape: Partial<Shape>): number => draw(face, shape).edges.width / face.eyeDistance;

/** Columns of the table of the edges: near the middle of the mouth, and near its left corner. */
const MIDDLE = [96, 160] as const;
const CORNER = [14, 30] as const;

/** Mean luma and V between the lips, in some columns: from 0 at the upper lip to 1 at the lower one. */
const colourBetween = (
  face: Face,
  { edges, planes }: DrawnMouth,
  from: number,
  to: number,
  [first, end]: readonly [number, number] = MIDDLE,
) => {
  const sum = { y: 0, v: 0, count: 0 };
  for (let column = first; column < end; column += 4) {
    const x = edges.left + (edges.width * column) / 255;
    const [top, bottom] = [edges.top[column] as number, edges.bottom[column] as number];
    for (let share = from; share <= to; share += 0.05) {
      const place = fromFrame(face.lips.frame, x, top + (bottom - top) * share);
      const [left, down] = [Math.round(place.x), Math.round(place.y)];
      sum.y += planes.y[down * PICTURE_SIZE + left] as number;
      sum.v += planes.v[(down >> 1) * (PICTURE_SIZE / 2) + (left >> 1)] as number;
      sum.count++;
    }
  }
  return { y: sum.y / sum.count, v: sum.v / sum.count };
};

describe("the mouth of a photo", () => {
  for (const [name, face] of [
    ["closed lips", FACE],
    ["a smile", SMILE],
  ] as const) {
    test(`${name}, p: shut. a: open by at least 12 % of the distance of the eyes`, () => {
      expect(gap(face, { closed: 1 })).toBeLessThan(0.02);
      expect(gap(face, { open: 1 })).toBeGreaterThan(0.12);
    });

    test(`${name}, f: the lower lip is at the teeth, which show`, () => {
      const mouth = draw(face, { open: 0.2, tuck: 1 });
      expect(mouth.edges.gap / face.eyeDistance).toBeWithin(0.02, 0.06);
      expect(colourBetween(face, mouth, 0.4, 0.6).y).toBeGreaterThan(BLACK + 0.35 * (face.light.skinY - BLACK));
    });

    test(`${name}, an oo compared with an ee: at least 30 % narrower`, () => {
      expect(width(face, { round: 1, open: 0.2 })).toBeLessThan(0.7 * width(face, { wide: 1, open: 0.2 }));
    });
  }

  test("closed lips, a wide ee: the corner of the opening has the colour of lips, and is not black", () => {
    const corner = colourBetween(FACE, draw(FACE, { open: 0.35, wide: 1 }), 0.3, 0.7, CORNER);
    expect(corner.y).toBeGreaterThan(BLACK + 0.15 * (FACE.light.lipY - BLACK));
  });

  test("closed lips, th: a tongue, redder than the teeth and brighter than the throat", () => {
    const shape = { open: 0.3, wide: 0.2 };
    const tongue = colourBetween(FACE, draw(FACE, { ...shape, tongue: 1 }), 0.4, 0.65);
    const without = colourBetween(FACE, draw(FACE, shape), 0.4, 0.65);
    expect(tongue.v).toBeGreaterThan(without.v + 4);
    expect(tongue.y).toBeGreaterThan(without.y + 10);
  });

  test("a smile during an open vowel: at least 8 % narrower", () => {
    const smiling = SMILE.lips.right - SMILE.lips.left;
    expect(width(SMILE, { open: 0.4 }) * SMILE.eyeDistance).toBeLessThan(0.92 * smiling);
  });

  test("a smile whose lips meet: the upper lip moves by at most 0.3 of the gap, the lower lip by the rest", () => {
    const { lips } = SMILE;
    const { edges } = draw(SMILE, { closed: 1 });
    for (const share of [0.35, 0.5, 0.65]) {
      const column = Math.round(255 * share);
      const x = edges.left + edges.width * share;
      const seam = edges.top[column] as number;
      expect(edges.bottom[column]).toBeCloseTo(seam);
      expect((seam - lips.upper(x)) / (lips.lower(x) - lips.upper(x))).toBeLessThan(0.3);
      expect((seam - lips.upper(x)) / (lips.lower(x) - lips.upper(x))).toBeGreaterThan(0.1);
    }
  });

  test("the lower lip of a smile: redder below its edge than above it, along its whole length", () => {
    const { lips, photo } = SMILE;
    const readRed = (x: number, y: number): number => {
      const place = fromFrame(lips.frame, x, y);
      return readPlane(photo.v, PICTURE_SIZE / 2, place.x / 2 - 0.25, place.y / 2 - 0.25);
    };
    for (const share of [0.2, 0.35, 0.5, 0.65, 0.8]) {
      const x = mix(lips.left, lips.right, share);
      const edge = lips.lower(x);
      expect(readRed(x, edge + 2) - readRed(x, edge - 2)).toBeGreaterThan(18);
    }
  });
});
