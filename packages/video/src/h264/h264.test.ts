import { expect, test } from "bun:test";
import { improveSequenceParameters, readSequenceParameters } from "./parameter-set.ts";
import { MAX_BITS_PER_SECOND, nextQuantizer, QUANTIZER } from "./rate.ts";

/** The parameter set that the encoder writes for 512 × 512 pixels. */
const WRITTEN = Uint8Array.of(0x67, 0x42, 0x00, 0x16, 0xa6, 0x80, 0x80, 0x10, 0x64);

test("the sequence parameter set, rewritten: level 3.1, the other fields unchanged, and no start code inside", () => {
  const before = readSequenceParameters(WRITTEN);
  expect(before).toMatchObject({ profile: 66, level: 22, width: 32, height: 32 });
  const improved = improveSequenceParameters(WRITTEN, 25);
  expect(readSequenceParameters(improved)).toEqual({ ...before, level: 31 });
  expect([...improved.subarray(0, 4)]).toEqual([0x67, 66, 0xc0, 31]);
  for (let at = 0; at + 2 < improved.length; at++) {
    const isStart = improved[at] === 0 && improved[at + 1] === 0 && (improved[at + 2] as number) < 3;
    expect([at, isStart]).toEqual([at, false]);
  }
});

test("truncated parameters, or a form that the encoder does not write: refused", () => {
  expect(() => readSequenceParameters(WRITTEN.subarray(0, 6))).toThrow("too short");
  expect(() => readSequenceParameters(Uint8Array.from(WRITTEN, (byte, at) => (at === 1 ? 100 : byte)))).toThrow(
    "unknown",
  );
});

test("the quantizer, after groups of different sizes: rises with the bits above the limit, and falls back", () => {
  expect(nextQuantizer(QUANTIZER, 300_000)).toBe(QUANTIZER);
  expect(nextQuantizer(QUANTIZER, 2 * MAX_BITS_PER_SECOND)).toBe(QUANTIZER + 6);
  expect(nextQuantizer(QUANTIZER + 6, MAX_BITS_PER_SECOND / 2)).toBe(QUANTIZER);
  expect(nextQuantizer(QUANTIZER, 1e12)).toBe(51);
  expect(nextQuantizer(QUANTIZER, 0)).toBe(QUANTIZER);
});
