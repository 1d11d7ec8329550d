import { expect, test } from "bun:test";
import { type WavParts, wavFile } from "./wav.testing.ts";
import { createMixer, MalformedSound, readWav } from "./wav.ts";

const open = (parts: WavParts = {}) => {
  const bytes = wavFile(parts);
  return readWav((start, end) => bytes.subarray(start, end), bytes.length);
};
const mix = (parts: WavParts): number[] => {
  const bytes = wavFile(parts);
  const wav = readWav((start, end) => bytes.subarray(start, end), bytes.length);
  return [...createMixer(wav)(bytes.subarray(wav.start, wav.end))];
};

test.each<[string, WavParts, number[]]>([
  ["8 bits", { bits: 8, data: Buffer.of(0, 128, 192) }, [-1, 0, 0.5]],
  ["16 bits", { data: Buffer.of(0, 0x80, 0, 0, 0, 0x40) }, [-1, 0, 0.5]],
  ["24 bits", { bits: 24, data: Buffer.of(0, 0, 0x80, 0, 0, 0, 0, 0, 0x40) }, [-1, 0, 0.5]],
  ["32 bits", { bits: 32, data: Buffer.of(0, 0, 0, 0x80, 0, 0, 0, 0x40) }, [-1, 0.5]],
  ["floating point", { format: 3, bits: 32, data: Buffer.from(new Float32Array([-1, 0.5]).buffer) }, [-1, 0.5]],
  [
    "floating point of 64 bits",
    { format: 3, bits: 64, data: Buffer.from(new Float64Array([-1, 0.5]).buffer) },
    [-1, 0.5],
  ],
  [
    "no numbers",
    { format: 3, bits: 32, data: Buffer.from(new Float32Array([Number.NaN, 1e30, Number.NEGATIVE_INFINITY]).buffer) },
    [0, 1, 0],
  ],
  ["two channels, in the middle", { channels: 2, data: Buffer.of(0, 0x40, 0, 0x40, 0, 0x40, 0, 0) }, [0.5, 0.25]],
  ["an extensible format", { format: 0xfffe, extension: 1, data: Buffer.of(0, 0x40) }, [0.5]],
  ["mu-law", { format: 7, bits: 8, data: Buffer.of(0xff, 0x80, 0x00) }, [0, 0.9803466796875, -0.9803466796875]],
  ["A-law", { format: 6, bits: 8, data: Buffer.of(0xd5, 0xaa, 0x2a) }, [0.000244140625, 0.984375, -0.984375]],
])("a WAV file of %s: its samples from -1 to 1", (_, parts, expected) => {
  expect(mix(parts)).toEqual(expected);
});

test.each<[string, WavParts, string]>([
  ["without channels", { channels: 0, frameBytes: 0 }, "1 to 32 channels"],
  ["with 65,535 channels", { channels: 65_535, frameBytes: 2 }, "1 to 32 channels"],
  ["of 0 Hz", { rate: 0 }, "rate"],
  ["of 4 GHz", { rate: 0xffff_ffff }, "rate"],
  ["of 12 bits", { bits: 12, frameBytes: 2 }, "number of bits"],
  ["of ADPCM", { format: 2 }, "neither PCM"],
  ["with sizes that contradict each other", { frameBytes: 4 }, "contradict"],
  ["that claims a gigabyte", { dataBytes: 2 ** 30 }, "ends before"],
  ["that is cut", { data: Buffer.alloc(10), dataBytes: 12 }, "ends before"],
  ["without sound", { dataName: "LIST" }, "no sound"],
  ["without a format", { formatName: "fmt_" }, "before its format"],
])("a WAV file %s: refused with the reason", (_, parts, message) => {
  expect(() => open(parts)).toThrow(MalformedSound);
  expect(() => open(parts)).toThrow(message);
});

test("a WAV file, cut at any place: refused, or its whole samples are read", () => {
  const whole = wavFile({ data: Buffer.alloc(8, 1) });
  for (let length = 0; length < whole.length; length++) {
    const bytes = whole.subarray(0, length);
    expect(() => readWav((start, end) => bytes.subarray(start, end), bytes.length)).toThrow(MalformedSound);
  }
  // A stream does not know its final length.
  for (const dataBytes of [0xffff_ffff, 0x7fff_ffff, 0]) {
    const { start, end } = open({ data: Buffer.alloc(9), dataBytes });
    expect([dataBytes, end - start]).toEqual([dataBytes, 8]);
  }
});

test("a WAV file with thousands of chunks before its sound: refused", () => {
  const chunks = Buffer.concat(Array.from({ length: 2000 }, () => Buffer.from("LIST\0\0\0\0", "latin1")));
  expect(() => open({ before: chunks })).toThrow("no format");
  expect(open({ before: chunks.subarray(0, 800) })).toMatchObject({ channels: 1, sampleRate: 48_000 });
});
