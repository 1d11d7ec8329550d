import { expect, test } from "bun:test";
import { PICTURE_LENGTH, PICTURE_SIZE, type Planes, planesFrom } from "../picture.ts";
import { openTestFace, type TestFace } from "../testing/photo-testing.ts";
import { readSpeech, recordMouth } from "../testing/speech-testing.ts";
import { type Affine, applyAffine, fitAffine, invertAffine } from "./affine.ts";
import { findEdges } from "./edges.ts";
import { drawFace } from "./face.ts";
import { createFilm, drawFilm } from "./film.ts";
import { readPlane } from "./grid.ts";
import { REST } from "./pose.ts";

const SPEAKING = { ...REST, gap: 0.17, part: 0.6, wide: 0.4, smile: -0.8, talk: 1 };
const SHUT = { ...REST, closed: 1, talk: 1 };

/** Turns by 8°, scales down by a tenth, and moves by some pixels. */
const PLACE: Affine = [0.9 * Math.cos(0.14), -Math.sin(0.14), 78, 0.9 * Math.sin(0.14), Math.cos(0.14), -34];

/** A picture as the frame at `place` shows it. */
const movePicture = (picture: Uint8Array, place: Affine): Uint8Array => {
  const moved = new Uint8Array(PICTURE_LENGTH);
  const back = invertAffine(place);
  const [from, to] = [planesFrom(picture), planesFrom(moved)];
  for (const name of ["y", "u", "v"] as const) {
    const scale = name === "y" ? 1 : 2;
    const size = PICTURE_SIZE / scale;
    const middle = (scale - 1) / 2;
    const at = { x: 0, y: 0 };
    for (let pixel = 0; pixel < size * size; pixel++) {
      applyAffine(back, scale * (pixel % size) + middle, scale * Math.floor(pixel / size) + middle, at);
      to[name][pixel] = readPlane(from[name], size, (at.x - middle) / scale, (at.y - middle) / scale) + 0.5;
    }
  }
  return moved;
};

/** Mean difference of the luma around the mouth. */
const differenceAtMouth = (left: Planes, right: Planes, place: Affine, { x, y }: { x: number; y: number }): number => {
  const middle = { x: 0, y: 0 };
  applyAffine(place, x, y, middle);
  let [sum, count] = [0, 0];
  for (let row = Math.round(middle.y) - 40; row < middle.y + 50; row++) {
    for (let column = Math.round(middle.x) - 60; column < middle.x + 60; column++, count++) {
      const pixel = row * PICTURE_SIZE + column;
      sum += Math.abs((left.y[pixel] as number) - (right.y[pixel] as number));
    }
  }
  return sum / count;
};

for (const name of ["closed", "smile"] as const satisfies readonly TestFace[]) {
  test(`a film of a ${name} mouth, at rest: the frame, byte for byte`, async () => {
    const face = await openTestFace(name);
    const frame = movePicture(face.picture, PLACE);
    expect(Bun.deepEquals(drawFilm(createFilm(face), { picture: frame, place: PLACE }, REST), frame)).toBe(true);
  });

  test(`a film of a ${name} mouth, its frame turned and moved: the mouth moves like that of the photo`, async () => {
    const face = await openTestFace(name);
    const film = createFilm(face);
    const frame = { picture: movePicture(face.picture, PLACE), place: PLACE };
    for (const pose of [SPEAKING, SHUT, { ...SPEAKING, round: 1 }]) {
      const expected = planesFrom(movePicture(drawFace(face, pose), PLACE));
      const drawn = planesFrom(drawFilm(film, frame, pose));
      const still = planesFrom(frame.picture);
      expect(differenceAtMouth(drawn, expected, PLACE, face.lips.frame)).toBeLessThan(1.2);
      if (pose !== SHUT) expect(differenceAtMouth(drawn, still, PLACE, face.lips.frame)).toBeGreaterThan(3);
    }
  });

  test(`a film of a ${name} mouth, its frame the photo: the mouth of the photo, nearly byte for byte`, async () => {
    const face = await openTestFace(name);
    const drawn = drawFilm(createFilm(face), { picture: face.picture, place: [1, 0, 0, 0, 1, 0] }, SPEAKING);
    const expected = drawFace(face, SPEAKING);
    const differences = drawn.filter((value, pixel) => Math.abs(value - (expected[pixel] as number)) > 2);
    expect(differences.length).toBeLessThan(20);
  });
}

test("a sentence in a film: in each picture, the lips part like those of the photo", async () => {
  const face = await openTestFace("closed");
  const film = createFilm(face);
  const mouths = recordMouth(face, await readSpeech());
  for (const [index, { pose, gap }] of mouths.entries()) {
    const place: Affine = [1, 0.002 * (index % 40), index % 20, -0.002 * (index % 40), 1, index % 30];
    drawFilm(film, { picture: face.picture, place }, { ...pose, yaw: 0, pitch: 0, roll: 0, blinkLeft: 0 });
    if (pose.talk > 0) expect(findEdges(face.lips, film.maps).gap / face.eyeDistance).toBeCloseTo(gap, 5);
  }
  expect(mouths.filter(({ gap }) => gap > 0.06).length).toBeGreaterThan(10);
});

test("a film, with a nod and a wink: they look like those of the photo", async () => {
  const face = await openTestFace("closed");
  const frame = { picture: movePicture(face.picture, PLACE), place: PLACE };
  const pose = { ...REST, pitch: 0.08, yaw: 0.05, blinkLeft: 1 };
  const expected = planesFrom(movePicture(drawFace(face, pose), PLACE));
  const drawn = planesFrom(drawFilm(createFilm(face), frame, pose));
  for (const place of [face.lips.frame, face.eyes[0].frame]) {
    expect(differenceAtMouth(drawn, expected, PLACE, place)).toBeLessThan(2);
    expect(differenceAtMouth(drawn, planesFrom(frame.picture), PLACE, place)).toBeGreaterThan(3);
  }
});

test("a film whose face is partly outside of the picture: drawn without an error", async () => {
  const face = await openTestFace("closed");
  const place: Affine = [1, 0, -250, 0, 1, 220];
  drawFilm(createFilm(face), { picture: movePicture(face.picture, place), place }, { ...SPEAKING, pitch: 0.1 });
});

test("an affine map, fitted to places that it has moved: the same map; inverted twice: the same", () => {
  const places = [
    { x: 10, y: 20 },
    { x: 300, y: 40 },
    { x: 200, y: 400 },
    { x: 90, y: 250 },
  ];
  const moved = places.map(({ x, y }) => {
    const into = { x: 0, y: 0 };
    applyAffine(PLACE, x, y, into);
    return into;
  });
  for (const map of [fitAffine(places, moved), invertAffine(invertAffine(PLACE))]) {
    for (const [index, value] of map.entries()) expect(value).toBeCloseTo(PLACE[index] as number, 6);
  }
});
