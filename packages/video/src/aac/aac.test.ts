import { describe, expect, test } from "bun:test";
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import { createBitWriter } from "../bit-writer.ts";
import { AAC_FRAME_SAMPLES, createAacEncoder } from "./encoder.ts";
import { createMdct } from "./mdct.ts";

const ffmpeg = Bun.which("ffmpeg");
const reason = ffmpeg === null ? " (skipped: without ffmpeg)" : "";

const noise = (length: number, amplitude: number): Int16Array => {
  const bytes = Buffer.from(seededBytes("noise")(2 * length));
  return Int16Array.from({ length }, (_, index) => (amplitude * (bytes.readUInt16LE(2 * index) - 32_768)) / 32_768);
};
/** A buzz of 110 Hz whose loudness rises and falls four times a second, as vowels do. */
const vowels = (length: number): Int16Array =>
  Int16Array.from({ length }, (_, index) => {
    const seconds = index / 48_000;
    const loud = Math.sin(Math.PI * 4 * seconds) ** 2;
    let sum = 0;
    for (let harmonic = 1; harmonic <= 30; harmonic++)
      sum += Math.sin(2 * Math.PI * 110 * harmonic * seconds) / harmonic;
    return 6000 * loud * sum;
  });

const encode = (pcm: Int16Array): Uint8Array[] => {
  const encoder = createAacEncoder();
  return Array.from({ length: Math.ceil(pcm.length / AAC_FRAME_SAMPLES) + 1 }, (_, index) => {
    const frame = new Int16Array(AAC_FRAME_SAMPLES);
    frame.set(pcm.subarray(index * AAC_FRAME_SAMPLES, (index + 1) * AAC_FRAME_SAMPLES));
    return encoder.encode(frame);
  });
};
/** The header of a stream (ADTS) for a frame of 48 kHz and one channel. */
const withHeader = (frame: Uint8Array): Uint8Array => {
  const writer = createBitWriter();
  for (const [value, length] of [
    [0xfff1, 16],
    [1, 2],
    [3, 4],
    [0, 1],
    [1, 3],
    [0, 4],
    [frame.length + 7, 13],
    [0x7ff, 11],
    [0, 2],
  ]) {
    writer.write(value as number, length as number);
  }
  return Buffer.concat([writer.bytes(), frame]);
};
/** The sound as ffmpeg decodes it: 16-bit PCM, without the delay of the encoder. */
const decode = async (frames: readonly Uint8Array[]): Promise<Int16Array> => {
  const args = ["-v", "error", "-f", "aac", "-i", "-", "-f", "s16le", "-ac", "1", "-ar", "48000", "-"];
  const child = Bun.spawn([ffmpeg ?? "", ...args], { stdin: Buffer.concat(frames.map(withHeader)), stderr: "pipe" });
  const [bytes, errors] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.stderr.text()]);
  expect(errors).toBe("");
  return new Int16Array(bytes).subarray(AAC_FRAME_SAMPLES);
};
/** The ratio of the sound to the error of the decoded sound, in decibels. */
const signalToNoise = (pcm: Int16Array, heard: Int16Array): number => {
  let [signal, error] = [0, 0];
  for (const [index, sample] of pcm.entries()) {
    signal += sample ** 2;
    error += (sample - (heard[index] ?? 0)) ** 2;
  }
  return 10 * Math.log10(signal / error);
};
const kilobits = (frames: readonly Uint8Array[]): number =>
  (8 * frames.reduce((sum, { length }) => sum + length, 0) * 0.048) / (frames.length * 1.024);

test("the transform of a block, compared with its definition: equal", () => {
  const samples = Float64Array.from(vowels(2 * AAC_FRAME_SAMPLES));
  const coefficients = createMdct()(samples);
  for (const k of [0, 1, 77, 511, 512, 1023]) {
    let sum = 0;
    for (const [n, sample] of samples.entries()) {
      const window = Math.sin((Math.PI * (n + 0.5)) / 2048);
      sum += 2 * sample * window * Math.cos((Math.PI / 1024) * (n + 0.5 + 512) * (k + 0.5));
    }
    expect(coefficients[k]).toBeCloseTo(sum, 4);
  }
});

describe("a voice, encoded", () => {
  test("silence: a few bytes a frame; equal sounds: equal bytes", () => {
    const frames = encode(new Int16Array(48_000));
    expect(Math.max(...frames.map(({ length }) => length))).toBeLessThan(12);
    expect(encode(vowels(24_000))).toEqual(encode(vowels(24_000)));
  });

  test("white noise as loud as possible: no frame is longer than the standard allows", () => {
    const frames = encode(noise(48_000, 32_767));
    expect(Math.max(...frames.map(({ length }) => 8 * length))).toBeLessThanOrEqual(6144);
  });

  test.skipIf(ffmpeg === null)(
    `vowels, decoded by ffmpeg: 20 dB above the noise, without a delay${reason}`,
    async () => {
      const pcm = vowels(2 * 48_000);
      const frames = encode(pcm);
      const heard = await decode(frames);
      expect(signalToNoise(pcm, heard)).toBeGreaterThan(20);
      // Even a shift by a tenth of a millisecond changes the sound.
      expect(signalToNoise(pcm, heard.subarray(5))).toBeLessThan(12);
      expect(kilobits(frames)).toBeWithin(30, 130);
    },
  );

  test.skipIf(ffmpeg === null)(
    `clicks, noise, full scale and silence, in turns: ffmpeg decodes all frames${reason}`,
    async () => {
      const pcm = new Int16Array(3 * 48_000);
      for (let at = 0; at < 48_000; at += 4800) pcm[at] = at % 9600 === 0 ? 32_767 : -32_768;
      pcm.set(noise(24_000, 20_000), 48_000);
      pcm.fill(32_767, 90_000, 92_000);
      pcm.fill(-32_768, 92_000, 94_000);
      pcm.set(noise(24_000, 3), 100_000);
      const heard = await decode(encode(pcm));
      expect(heard.length).toBeGreaterThanOrEqual(pcm.length);
      expect(signalToNoise(pcm.subarray(90_000, 94_000), heard.subarray(90_000, 94_000))).toBeGreaterThan(15);
    },
  );
});
