import { expect, test } from "bun:test";
import { createResampler, OUTPUT_SAMPLE_RATE } from "./resample.ts";
import { SAMPLE_RATES, type SampleRate } from "./settings.ts";

const AMPLITUDE = 20_000;
/** A second of a tone. */
const tone = (rate: number, hertz: number): Int16Array =>
  Int16Array.from({ length: rate }, (_, index) =>
    Math.round(AMPLITUDE * Math.sin((2 * Math.PI * hertz * index) / rate)),
  );

const resample = (pcm: Int16Array, rate: SampleRate, size = pcm.length): Int16Array => {
  const resampler = createResampler(rate);
  const parts: number[] = [];
  for (let at = 0; at < pcm.length; at += size) parts.push(...resampler.push(pcm.subarray(at, at + size)));
  return Int16Array.from([...parts, ...resampler.flush()]);
};

test.each(SAMPLE_RATES)("a tone at %d Hz: the same tone at 48 kHz, in step and as long", (rate) => {
  const output = resample(tone(rate, 1000), rate);
  const expected = tone(OUTPUT_SAMPLE_RATE, 1000);
  expect(output.length).toBe(OUTPUT_SAMPLE_RATE);
  let greatest = 0;
  // The filter sees silence before the start and after the end.
  for (let index = 500; index < output.length - 500; index++) {
    greatest = Math.max(greatest, Math.abs((output[index] ?? 0) - (expected[index] ?? 0)));
  }
  expect(greatest).toBeLessThan(AMPLITUDE * 0.01);
});

test.each([16_000, 24_000, 44_100] as const)("sound at %d Hz, in pieces of any size: the same samples", (rate) => {
  const pcm = tone(rate, 440).subarray(0, 3001);
  const whole = resample(pcm, rate);
  for (const size of [1, 7, 160, 2999]) expect(resample(pcm, rate, size)).toEqual(whole);
  expect(whole.length).toBe(Math.ceil((3001 * OUTPUT_SAMPLE_RATE) / rate));
});

test("a low voice at 16 kHz: no mirror image above 8 kHz", () => {
  const output = resample(tone(16_000, 6000), 16_000);
  // The image of 6 kHz is at 10 kHz: its share, by correlation.
  let [sine, cosine] = [0, 0];
  for (const [index, sample] of output.entries()) {
    const angle = (2 * Math.PI * 10_000 * index) / OUTPUT_SAMPLE_RATE;
    sine += sample * Math.sin(angle);
    cosine += sample * Math.cos(angle);
  }
  const image = (2 * Math.hypot(sine, cosine)) / output.length;
  expect(image / AMPLITUDE).toBeLessThan(0.01);
});

test("the loudest sound: clipped, not wrapped", () => {
  const square = Int16Array.from({ length: 4000 }, (_, index) => (index % 40 < 20 ? 32_767 : -32_768));
  const output = resample(square, 16_000);
  const steps = [...output].filter((sample, index) => Math.abs(sample - (output[index - 1] ?? sample)) > 45_000);
  expect(steps).toEqual([]);
});

test("empty sound: no samples", () => {
  expect(resample(new Int16Array(0), 24_000)).toHaveLength(0);
});
