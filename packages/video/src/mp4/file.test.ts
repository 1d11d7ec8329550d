import { describe, expect, test } from "bun:test";
import { AAC_FORMAT } from "../aac/encoder.ts";
import { createMp4 } from "./file.ts";

/** The boxes that contain other boxes. */
const BOXES = ["moov", "trak", "mdia", "minf", "stbl"];
/** The tables of a file, with their numbers. */
const tablesOf = (bytes: Buffer, tables: [type: string, numbers: number[]][] = []) => {
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at)) {
    const type = bytes.toString("latin1", at + 4, at + 8);
    const content = bytes.subarray(at + 8, at + bytes.readUInt32BE(at));
    if (BOXES.includes(type)) tablesOf(content, tables);
    const numbers = Array.from({ length: content.length >> 2 }, (_, index) => content.readUInt32BE(4 * index));
    if (["stts", "stss", "stsz", "stco", "mvhd"].includes(type)) tables.push([type, numbers]);
  }
  return tables;
};

const fileOf = () => {
  let bytes = Buffer.alloc(0);
  const write = (part: Uint8Array, position: number): void => {
    bytes = Buffer.concat([bytes, Buffer.alloc(Math.max(0, position + part.length - bytes.length))]);
    bytes.set(part, position);
  };
  return { ...createMp4({ sound: AAC_FORMAT, pictureTimescale: 1000, write }), bytes: () => bytes };
};
const VIDEO = {
  size: 512,
  sequence: Uint8Array.of(0x67, 66, 0xc0, 31),
  picture: Uint8Array.of(0x68),
  colours: { primaries: 1, transfer: 13, matrix: 6, isFullRange: false },
};

describe("an MP4", () => {
  test("sound alone: one track of the audible length, in chunks of a second", () => {
    const file = fileOf();
    for (let frame = 0; frame < 95; frame++) file.addFrame(Uint8Array.of(frame));
    expect(file.finish(null)).toBe(file.bytes().length);
    const tables = Object.fromEntries(tablesOf(file.bytes()));
    expect(tables["mvhd"]?.[4]).toBe(Math.round((1000 * 94 * 1024) / 48_000));
    expect(tables["stts"]).toEqual([0, 1, 95, 1024]);
    expect(tables["stss"]).toBeUndefined();
    // The first chunk begins after `ftyp` and the header of the data. A chunk of one second has 47 frames, here of one byte.
    const [, count, first = 0, second] = tables["stco"] ?? [];
    expect([count, second]).toEqual([3, first + 47]);
    expect([...file.bytes().subarray(first, first + 95)]).toEqual(Array.from({ length: 95 }, (_, frame) => frame));
  });

  test("pictures of different durations: their tables, and the length of the file", () => {
    const file = fileOf();
    for (const [index, ms] of [40, 40, 700, 40, 5].entries()) {
      file.addPicture(Uint8Array.of(index), ms, index % 3 === 0);
      file.addFrame(Uint8Array.of(index));
    }
    file.finish(VIDEO);
    const tables = tablesOf(file.bytes());
    const numbers = (type: string) => tables.find(([name]) => name === type)?.[1];
    expect(numbers("mvhd")?.[4]).toBe(825);
    expect(numbers("stts")).toEqual([0, 4, 2, 40, 1, 700, 1, 40, 1, 5]);
    expect(numbers("stss")).toEqual([0, 2, 1, 4]);
  });

  test("more bytes than the maximum: refused", () => {
    const file = createMp4({ sound: AAC_FORMAT, pictureTimescale: 1000, write: () => {}, maxBytes: 1000 });
    file.addPicture(new Uint8Array(900), 1000, true);
    expect(() => file.addPicture(new Uint8Array(100), 1000, true)).toThrow("more than 1000");
  });
});
