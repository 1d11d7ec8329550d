import { expect, test } from "bun:test";
import { Mp4Error, moveChunks } from "./mp4-boxes.ts";

const box = (type: string, ...contents: Buffer[]): Buffer => {
  const content = Buffer.concat(contents);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, content]);
};
/** A box whose size has 64 bits. */
const longBox = (type: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(16);
  head.writeUInt32BE(1);
  head.write(type, 4, "latin1");
  head.writeBigUInt64BE(BigInt(16 + content.length), 8);
  return Buffer.concat([head, content]);
};
const numbers = (width: 4 | 8, values: readonly number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const bytes = Buffer.alloc(width);
      bytes.writeUIntBE(value, width - Math.min(6, width), Math.min(6, width));
      return bytes;
    }),
  );
/** A table of chunks that claims to have `count` entries. */
const table = (type: "stco" | "co64", values: readonly number[], count = values.length): Buffer =>
  box(type, numbers(4, [0, count]), numbers(type === "co64" ? 8 : 4, values));
const track = (...tables: Buffer[]): Buffer => box("trak", box("mdia", box("minf", box("stbl", ...tables))));
const shifted = (movie: Buffer): Buffer => {
  const copy = Buffer.from(movie);
  moveChunks(copy, "moov", (offset) => (offset < 100 ? offset : offset + 1000));
  return copy;
};

test("tables of 32 and 64 bits, of two tracks: only their offsets after the place are moved", () => {
  const build = (short: number[], long: number[]): Buffer =>
    box(
      "moov",
      box("mvhd", numbers(4, [100])),
      track(box("stsz", numbers(4, [100])), table("stco", short)),
      track(table("co64", long)),
    );
  expect(shifted(build([99, 100, 5000], [50, 2 ** 33]))).toEqual(build([99, 1100, 6000], [50, 2 ** 33 + 1000]));
});

test("boxes whose size has 64 bits: read like others", () => {
  const build = (offset: number): Buffer =>
    longBox("moov", longBox("trak", track(table("stco", [offset])).subarray(8)));
  expect(shifted(build(200))).toEqual(build(1200));
});

test.each<[string, Buffer]>([
  ["an offset beyond 32 bits", box("moov", track(table("stco", [0xffff_ffff])))],
  ["a table shorter than its count", box("moov", track(table("stco", [200], 2)))],
  ["a table with the greatest count", box("moov", track(table("co64", [200], 0xffff_ffff)))],
  ["a table without a count", box("moov", track(box("stco", numbers(4, [0]))))],
  ["a box of no size", box("moov", numbers(4, [0, 0]))],
  ["a box longer than its parent", box("moov", numbers(4, [100]), Buffer.from("trak"))],
  ["a cut head", box("moov", numbers(4, [0]))],
  ["a cut head of 64 bits", box("moov", numbers(4, [1]), Buffer.from("trak"))],
  ["fragments", box("moov", box("mvex"))],
  ["encryption", box("moov", track(box("saio")))],
])("%s: refused", (_, movie) => {
  expect(() => shifted(movie)).toThrow(Mp4Error);
});
