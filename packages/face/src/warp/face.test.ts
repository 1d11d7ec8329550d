import { expect, test } from "bun:test";
import { PICTURE_SIZE, planesFrom } from "../picture.ts";
import { openTestFace, readMesh, readPicture, type TestFace } from "../testing/photo-testing.ts";
import { drawFace, openFace } from "./face.ts";
import { frameAlong, fromFrame } from "./frame.ts";
import type { Place } from "./grid.ts";
import { measureHeadMove, updateMaps } from "./maps.ts";
import { LANDMARK, landmark } from "./photo/landmarks.ts";
import { REST } from "./pose.ts";

const FACES: readonly TestFace[] = ["closed", "smile"];
const SPEAKING = { ...REST, gap: 0.17, part: 0.6, wide: 0.4, smile: -0.8, talk: 1 };

/** The largest difference of the luma of rows. */
const differenceOfRows = (left: Uint8Array, right: Uint8Array, first: number, last: number): number => {
  let most = 0;
  for (let pixel = first * PICTURE_SIZE; pixel < last * PICTURE_SIZE; pixel++) {
    most = Math.max(most, Math.abs((left[pixel] as number) - (right[pixel] as number)));
  }
  return most;
};

/** Decibels. */
const signalToNoise = (left: Uint8Array, right: Uint8Array): number => {
  let sum = 0;
  for (let pixel = 0; pixel < left.length; pixel++) sum += ((left[pixel] as number) - (right[pixel] as number)) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / left.length));
};

for (const name of FACES) {
  test(`a ${name} mouth, drawn at rest: the photo, byte for byte`, async () => {
    const face = await openTestFace(name);
    expect(Bun.deepEquals(drawFace(face, REST), face.picture)).toBe(true);
  });

  test(`a ${name} mouth, drawn at rest after a speaking pose: the photo again`, async () => {
    const face = await openTestFace(name);
    drawFace(face, { ...SPEAKING, yaw: 0.1, roll: 0.05, blinkLeft: 1, blinkRight: 1 });
    expect(Bun.deepEquals(drawFace(face, REST), face.picture)).toBe(true);
  });

  test(`a ${name} mouth without an expression, the head turned and the eyes shut: as with an expression that moves nothing`, async () => {
    const face = await openTestFace(name);
    const pose = { ...REST, yaw: 0.1, pitch: 0.05, roll: 0.05, shiftX: 4, blinkLeft: 1, blinkRight: 1, gazeX: 2 };
    // The picture after one with an expression, whose maps must be written again.
    drawFace(face, SPEAKING);
    const listening = drawFace(face, pose);
    expect(Bun.deepEquals(listening, drawFace(face, { ...pose, brow: 1e-9 }))).toBe(true);
  });

  test(`a ${name} mouth that opens, the head still: the picture above the nose does not change`, async () => {
    const face = await openTestFace(name);
    const spoken = planesFrom(drawFace(face, SPEAKING));
    const nose = Math.floor(face.lips.frame.y - 1.3 * face.lips.nose - 0.3 * face.eyeDistance);
    const length = nose * PICTURE_SIZE;
    expect(signalToNoise(spoken.y.subarray(0, length), face.photo.y.subarray(0, length))).toBeGreaterThan(55);
    const lips = Math.round(face.lips.frame.y);
    expect(differenceOfRows(spoken.y, face.photo.y, lips - 10, lips + 30)).toBeGreaterThan(60);
  });

  test(`a ${name} mouth, the head turned: the edges of the picture do not change`, async () => {
    const face = await openTestFace(name);
    const turned = planesFrom(drawFace(face, { ...SPEAKING, yaw: 0.1, pitch: 0.05, roll: 0.05, shiftX: 4, shiftY: 4 }));
    expect(differenceOfRows(turned.y, face.photo.y, 0, 1)).toBe(0);
    expect(differenceOfRows(turned.y, face.photo.y, PICTURE_SIZE - 1, PICTURE_SIZE)).toBe(0);
    const column = (plane: Uint8Array, x: number) => plane.filter((_, pixel) => pixel % PICTURE_SIZE === x);
    for (const x of [0, PICTURE_SIZE - 1]) expect(column(turned.y, x)).toEqual(column(face.photo.y, x));
  });
}

test("a head turned by 6°: the nose moves by more than 6 pixels, the background by less than one", async () => {
  for (const name of FACES) {
    const face = await openTestFace(name);
    const mesh = await readMesh(name);
    const [left, right] = [landmark(mesh, LANDMARK.earLeft), landmark(mesh, LANDMARK.earRight)];
    const beside = frameAlong(left, left, right);
    const width = Math.hypot(right.x - left.x, right.y - left.y);
    for (const turn of [{ yaw: 0.105 }, { pitch: 0.105 }]) {
      updateMaps(face.maps, face, { ...REST, ...turn });
      const measureMove = (place: Place): number => {
        const { x, y } = measureHeadMove(face.maps, place);
        return Math.hypot(x, y);
      };
      expect(measureMove(landmark(mesh, LANDMARK.noseTip))).toBeGreaterThan(6);
      for (const x of [-0.35 * width, 1.35 * width]) expect(measureMove(fromFrame(beside, x, 0))).toBeLessThan(1);
    }
  }
});

test("a blink: dark irises are covered by skin", async () => {
  const face = await openTestFace("closed");
  const shut = planesFrom(drawFace(face, { ...REST, blinkLeft: 1, blinkRight: 1 }));
  for (const { frame, half } of face.eyes) {
    const meanAround = (luma: Uint8Array): number => {
      let [sum, count] = [0, 0];
      for (let y = Math.round(frame.y - half / 4); y < frame.y + half / 8; y++) {
        for (let x = Math.round(frame.x - half / 3); x < frame.x + half / 3; x++, count++) {
          sum += luma[y * PICTURE_SIZE + x] as number;
        }
      }
      return sum / count;
    };
    expect(meanAround(shut.y)).toBeGreaterThan(1.2 * meanAround(face.photo.y));
  }
});

test("a mesh of 467 points, or a picture of another size: refused", async () => {
  const picture = await readPicture("closed");
  expect(() => openFace(picture, new Float32Array(3 * 467))).toThrow(RangeError);
  expect(() => openFace(picture.subarray(1), new Float32Array(3 * 468))).toThrow(RangeError);
});

test("a mesh of equal points, or of values other than numbers: refused", async () => {
  const picture = await readPicture("closed");
  expect(() => openFace(picture, new Float32Array(3 * 468).fill(256))).toThrow(RangeError);
  const mesh = await readMesh("closed");
  mesh[3 * 78] = Number.NaN;
  expect(() => openFace(picture, mesh)).toThrow(RangeError);
});
