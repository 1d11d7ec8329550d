import { describe, expect, test } from "bun:test";
import sharp from "sharp";
import { splitJpegs } from "./frames.ts";

const jpeg = (colour: string, options = {}) =>
  sharp({ create: { width: 40, height: 24, channels: 3, background: colour } })
    .jpeg(options)
    .toBuffer();
const JPEGS = await Promise.all([jpeg("red"), jpeg("#123456"), jpeg("blue", { progressive: true })]);
const FILM = Buffer.concat(JPEGS);

describe("the frames of a film", () => {
  test("JPEGs, one after the other: each of them, at most as many as wanted", () => {
    expect(splitJpegs(FILM, 9).map((each) => Buffer.from(each))).toEqual(JPEGS);
    expect(splitJpegs(FILM, 2)).toHaveLength(2);
  });

  test("a cover with the end of a picture in a comment: not cut there", () => {
    const [first = Buffer.alloc(0)] = JPEGS;
    const comment = Buffer.from([0xff, 0xfe, 0, 6, 0xff, 0xd9, 0xff, 0xd8]);
    const withComment = Buffer.concat([first.subarray(0, 2), comment, first.subarray(2)]);
    expect(splitJpegs(Buffer.concat([withComment, first]), 9).map(({ length }) => length)).toEqual([
      withComment.length,
      first.length,
    ]);
  });

  test.each([
    ["empty", Buffer.alloc(0), 0],
    ["a text", Buffer.from("no pictures"), 0],
    ["cut off in its third frame", FILM.subarray(0, FILM.length - 4), 2],
    ["with noise behind its first frame", Buffer.concat([JPEGS[0] as Buffer, Buffer.alloc(999, 7)]), 1],
    ["a start marker without an end marker", Buffer.from([0xff, 0xd8, 0xff]), 0],
    [
      "segments of length 0",
      Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(5000, Buffer.from([0xff, 0xe0, 0, 0]))]),
      0,
    ],
  ])("a film, %s: its whole frames", (_, bytes, count) => {
    expect(splitJpegs(bytes, 9)).toHaveLength(count);
  });
});
