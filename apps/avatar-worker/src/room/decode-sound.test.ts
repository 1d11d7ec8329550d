import { describe, expect, test } from "bun:test";
import { createSoundDecoder, readFormat, type SoundFormat } from "./decode-sound.ts";

const attributes = (sample_rate: string, num_channels: string) => ({ sample_rate, num_channels });

test.each([
  ["8000", "1", { sampleRate: 8000, channels: 1 }],
  ["22050", "2", { sampleRate: 22_050, channels: 2 }],
  ["48000", "1", { sampleRate: 48_000, channels: 1 }],
])("a format of %s Hz and %s channels: played", (rate, channels, format) => {
  expect(readFormat(attributes(rate, channels))).toEqual(format as SoundFormat);
});

test.each([
  "7999",
  "48001",
  "96000",
  "0",
  "-24000",
  "24000.5",
  "24e3",
  "0x5dc0",
  " 24000",
  "٢٤٠٠٠",
  "NaN",
  "",
  "9".repeat(9),
])("a rate of '%s': not played", (rate) => {
  expect(readFormat(attributes(rate, "1"))).toBeNull();
});
test.each(["0", "3", "-1", "1.0", "", "x"])("'%s' channels: not played", (channels) => {
  expect(readFormat(attributes("24000", channels))).toBeNull();
});
test("no attributes: not played", () => {
  expect([readFormat(), readFormat({}), readFormat({ sample_rate: "24000" })]).toEqual([null, null, null]);
});

/** Decodes bytes that come in pieces. Returns all samples. */
const decode = (
  format: SoundFormat,
  bytes: Uint8Array,
  pieceBytes: number,
): { frames: number[]; samples: number[] } => {
  const decoder = createSoundDecoder(format);
  const frames: Int16Array[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    frames.push(...decoder.push(bytes.subarray(start, start + pieceBytes)));
  }
  frames.push(...decoder.flush());
  decoder.close();
  return { frames: frames.map(({ length }) => length), samples: frames.flatMap((frame) => [...frame]) };
};

describe("the sound of an agent", () => {
  test("pieces of any length, even within a sample: the same samples, in frames of 20 ms", () => {
    const samples = Int16Array.from({ length: 2500 }, (_, index) => index * 13 - 16_000);
    for (const pieceBytes of [1, 3, 1920, 10_000]) {
      const decoded = decode({ sampleRate: 48_000, channels: 1 }, new Uint8Array(samples.buffer), pieceBytes);
      expect(decoded).toEqual({ frames: [960, 960, 580], samples: [...samples] });
    }
  });

  test("two channels: their mean; an incomplete last sample: dropped", () => {
    const stereo = Int16Array.of(100, 300, -32_768, -32_768, 32_767, 32_767, 5);
    const { samples } = decode({ sampleRate: 48_000, channels: 2 }, new Uint8Array(stereo.buffer), 5);
    expect(samples).toEqual([200, -32_768, 32_767]);
  });

  test.each([8000, 11_025, 24_000, 44_100, 47_999])("a second at %i Hz: a second at 48 kHz", (sampleRate) => {
    const tone = Int16Array.from({ length: sampleRate }, (_, at) => 8000 * Math.sin((at / sampleRate) * 2765));
    const { samples } = decode({ sampleRate, channels: 1 }, new Uint8Array(tone.buffer), 777);
    expect(Math.abs(samples.length - 48_000)).toBeLessThan(10);
    const level = Math.sqrt(samples.reduce((sum, value) => sum + value ** 2, 0) / samples.length);
    expect(Math.abs(level - 8000 / Math.SQRT2)).toBeLessThan(200);
  });
});
