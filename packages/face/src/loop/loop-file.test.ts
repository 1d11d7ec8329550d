import { describe, expect, test } from "bun:test";
import { decodeLoop, encodeLoop, frameAtStep, type LoopFrame, loopBytes, MIN_FRAMES } from "./loop-file.ts";

const frame = (index: number): LoopFrame => ({
  jpeg: new Uint8Array(1 + (index % 3)).fill(index),
  place: [1, 0.25, index / 8, -0.25, 1, -index / 4],
});
const FRAMES: LoopFrame[] = Array.from({ length: MIN_FRAMES }, (_, index) => frame(index));
const FILE = encodeLoop(FRAMES);

/** The file, with these bytes at a position. */
const changed = (at: number, bytes: Uint8Array): Uint8Array => {
  const file = Uint8Array.from(FILE);
  file.set(bytes, at);
  return file;
};
const floats = (...values: number[]) => new Uint8Array(Float32Array.from(values).buffer);

describe("the file of an idle loop", () => {
  test("written and read: the same frames, in the announced size", () => {
    const plain = (frames: readonly LoopFrame[]) => frames.map(({ place, jpeg }) => ({ place, jpeg: [...jpeg] }));
    expect(plain(decodeLoop(FILE))).toEqual(plain(FRAMES));
    expect(FILE.length).toBe(loopBytes(FRAMES.map(({ jpeg }) => jpeg.length)));
  });

  test.each([
    ["empty", new Uint8Array()],
    ["of another kind", changed(0, Buffer.from("RTALOOP2"))],
    ["cut off in its header", FILE.subarray(0, 10)],
    ["cut off in its places", FILE.subarray(0, 500)],
    ["cut off in its frames", FILE.subarray(0, FILE.length - 1)],
    ["with a byte too many", Buffer.concat([FILE, new Uint8Array(1)])],
    ["with three seconds of frames", encodeLoop(FRAMES.slice(0, 75))],
    ["with nine seconds of frames", encodeLoop([...FRAMES, ...FRAMES, ...FRAMES.slice(0, 25)])],
    ["with a million frames", changed(8, Uint8Array.of(0, 0, 16, 0))],
    ["with a frame longer than the file", changed(12 + 24, Uint8Array.of(255, 255, 255, 255))],
    ["with a place that is no number", changed(12, floats(Number.NaN))],
    ["with a place that mirrors", changed(12, floats(-1))],
    ["with a place far outside", changed(12, floats(1, 0, 400, 0, 1, 0))],
    ["with a place that shrinks the face", changed(12, floats(0.1, 0, 230, 0, 0.1, 230))],
    ["with more than 8 MiB", encodeLoop(Array.from(FRAMES, ({ place }) => ({ place, jpeg: new Uint8Array(90_000) })))],
  ])("%s: refused", (_, bytes) => {
    expect(() => decodeLoop(bytes)).toThrow(RangeError);
  });
});

test("the steps of a loop: forwards and backwards, each frame after a neighbour, the ends once", () => {
  const steps = Array.from({ length: 13 }, (_, step) => frameAtStep(step, 4));
  expect(steps).toEqual([0, 1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0]);
});
