import { expect, test } from "bun:test";
import { PICTURE_LENGTH, PICTURE_SIZE, planesFrom, toI420 } from "./picture.ts";

const filled = (red: number, green: number, blue: number): Uint8Array =>
  Uint8Array.from({ length: 3 * PICTURE_SIZE ** 2 }, (_, index) => [red, green, blue][index % 3] ?? 0);

const first = ({ y, u, v }: ReturnType<typeof planesFrom>): (number | undefined)[] => [y[0], u[0], v[0]];

test("white, black and red, converted to I420: the values of BT.601 with limited range", () => {
  expect(first(planesFrom(toI420(filled(255, 255, 255))))).toEqual([235, 128, 128]);
  expect(first(planesFrom(toI420(filled(0, 0, 0))))).toEqual([16, 128, 128]);
  expect(first(planesFrom(toI420(filled(255, 0, 0))))).toEqual([82, 90, 240]);
});

test("a picture, converted to I420: planes of 512 × 512 and twice 256 × 256", () => {
  const picture = toI420(filled(1, 2, 3));
  expect(picture).toHaveLength(PICTURE_LENGTH);
  const { y, u, v } = planesFrom(picture);
  expect([y.length, u.length, v.length]).toEqual([262_144, 65_536, 65_536]);
});

test("bytes of another length: refused", () => {
  expect(() => toI420(new Uint8Array(3))).toThrow("3 bytes of RGB");
  expect(() => planesFrom(new Uint8Array(7))).toThrow("7 bytes");
});
