/** Sample tables that count more than a file has. `media.test.ts` tests the reading of valid ones. */
import { describe, expect, test } from "bun:test";
import { hugeChunks, manyTimes } from "../corpus/amplified.testing.ts";
import * as media from "../corpus/media.testing.ts";
import { hasBoundedTables } from "./sample-tables.ts";

const isBounded = (file: Buffer): boolean =>
  hasBoundedTables({ read: (start, end) => file.subarray(Math.min(start, file.length), end), size: file.length });

const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};
const box = (name: string, ...contents: Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  return Buffer.concat([words(8 + content.length), Buffer.from(name, "latin1"), content]);
};
const track = (...tables: Buffer[]): Buffer =>
  box(
    "moov",
    box("trak", box("mdia", box("hdlr", words(0, 0), Buffer.from("vide")), box("minf", box("stbl", ...tables)))),
  );
const HUGE = 0x7fff_ffff;
/** As large as a photograph, so that the checks do not depend on a small file. */
const filler = box("free", Buffer.alloc(100_000));
const sizes = (count: number): Buffer => box("stsz", words(0, 0, count), Buffer.alloc(4 * count, 1));

describe("files with bounded sample tables", () => {
  test.each([
    ["a video", () => media.video({ seconds: 120, framesPerSecond: 60 })],
    ["a MOV", () => media.video({ container: "mov" })],
    ["an audio file", media.m4a],
    ["no box at all", async () => Buffer.from("text")],
    [
      "uncompressed audio, of one size",
      async () =>
        Buffer.concat([
          track(
            box("stsz", words(0, 2, 48_000)),
            box("stts", words(0, 1, 48_000, 1)),
            box("stsc", words(0, 1, 1, 24_000, 1)),
          ),
          filler,
        ]),
    ],
    [
      "all samples in one chunk",
      async () =>
        Buffer.concat([track(sizes(7200), box("stco", words(0, 1, 8)), box("stsc", words(0, 1, 1, 7200, 1))), filler]),
    ],
  ] as const)("the sample tables of %s: accepted", async (_, file) => {
    expect(isBounded(await file())).toBe(true);
  });
});

describe("files whose sample tables are refused", () => {
  test.each([
    ["whose chunks have more samples than there are", hugeChunks],
    ["whose samples have more times than there are", manyTimes],
    ["with more moved times", async () => track(sizes(10), box("ctts", words(0, 1, HUGE, 1)))],
    ["with more samples of one size, and their times", async () => track(box("stts", words(0, 1, HUGE, 1)))],
    ["with a run of chunks that goes back", async () => track(box("stsc", words(0, 2, 5, 1, 1, 3, 1, 1)))],
    ["with runs of chunks that do not exist", async () => track(box("stsc", words(0, 2, 1, 1, 1, HUGE, 1, 1)))],
    [
      "of a large file, whose video has all samples in one chunk",
      async () => Buffer.concat([track(sizes(20_000), box("stsc", words(0, 1, 1, 20_000, 1))), filler]),
    ],
    ["of fragments that count samples without data", async () => box("moof", box("traf", box("trun", words(0, HUGE))))],
    [
      "of encrypted samples without data",
      async () => box("moof", box("traf", box("saiz", Buffer.from([0, 0, 0, 0, 8]), words(HUGE)))),
    ],
    [
      "in nested boxes",
      async () => {
        const depths = Array.from({ length: 50_000 }, (_, depth) => 8 * (50_000 - depth));
        return Buffer.concat(depths.flatMap((bytes) => [words(bytes), Buffer.from("moov")]));
      },
    ],
    ["in more boxes than a file needs", async () => Buffer.concat(new Array<Buffer>(100_001).fill(box("free")))],
  ] as const)("sample tables %s: refused", async (_, file) => {
    expect(isBounded(await file())).toBe(false);
  });
});
