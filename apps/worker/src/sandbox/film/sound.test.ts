import { describe, expect, test } from "bun:test";
import { createResampler } from "./resample.ts";
import { makeSound } from "./sound.ts";
import type { SoundSource } from "./tasks.ts";
import { tone, type WavParts, wavFile } from "./wav.testing.ts";

const sine = (frequency: number) => (seconds: number) => 0.5 * Math.sin(2 * Math.PI * frequency * seconds);

/** The report and the output of a child for these bytes. */
const make = async (bytes: Uint8Array, source: SoundSource = { kind: "wav" }) => {
  const parts: Uint8Array[] = [];
  const input = { read: (start: number, end: number) => bytes.subarray(start, end), size: bytes.length };
  const report = await makeSound(input, { kind: "sound", source }, (part) => parts.push(part.slice()));
  const all = Buffer.concat(parts);
  return { report, pcm: new Int16Array(all.buffer, all.byteOffset, all.length >> 1) };
};
/** The largest difference of 16-bit samples from a wave, without the first and the last `skip` seconds. */
const difference = (pcm: Int16Array, wave: (seconds: number) => number, skip = 0.01): number => {
  let most = 0;
  for (let index = Math.round(48_000 * skip); index < pcm.length - 48_000 * skip; index++) {
    most = Math.max(most, Math.abs((pcm[index] as number) - 32_767 * wave(index / 48_000)));
  }
  return most;
};

describe("sound of other rates", () => {
  test.each([8000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000, 44_101])(
    "%i Hz: the same length, the same times, and the same tone",
    async (rate) => {
      const wave = sine(1000);
      const { report, pcm } = await make(wavFile({ rate, data: tone(1, rate, wave) }));
      expect(report).toEqual({ kind: "accepted", samples: 48_000 });
      expect(difference(pcm, wave)).toBeLessThan(40);
    },
  );

  test("a tone that 48 kHz cannot represent: not audible", async () => {
    const { pcm } = await make(wavFile({ rate: 96_000, data: tone(1, 96_000, sine(30_000)) }));
    expect(difference(pcm, () => 0)).toBeLessThan(10);
  });

  test("pieces of any length: the same samples", () => {
    const samples = Float64Array.from({ length: 5000 }, (_, index) => Math.sin(index * index));
    const whole = createResampler(44_100);
    const expected = [...whole.push(samples), ...whole.flush()];
    const parts = createResampler(44_100);
    const heard: number[] = [];
    for (let at = 0, length = 1; at < samples.length; at += length, length = (length * 7) % 500) {
      heard.push(...parts.push(samples.slice(at, at + length)));
    }
    heard.push(...parts.flush());
    expect(heard).toEqual(expected);
    expect(heard.length).toBe(Math.ceil((5000 * 48_000) / 44_100));
  });
});

describe("a sound for a video", () => {
  test.each<[string, WavParts, string, string]>([
    ["silent", { data: Buffer.alloc(96_000) }, "audio_silent", "no sound"],
    ["almost silent", { data: tone(1, 48_000, (at) => sine(200)(at) / 1000) }, "audio_silent", "no sound"],
    ["without samples", { data: Buffer.alloc(0) }, "audio_malformed", "no samples"],
    ["cut", { dataBytes: 1000 }, "audio_malformed", "ends before"],
    ["without channels", { channels: 0, frameBytes: 0 }, "audio_malformed", "channels"],
    ["of 601 s", { rate: 8000, bits: 8, data: Buffer.alloc(8000 * 601, 77) }, "audio_too_long", "600 s"],
  ])("that is %s: refused with advice", async (_, parts, code, detail) => {
    expect((await make(wavFile(parts))).report).toMatchObject({
      kind: "refused",
      code,
      detail: expect.stringContaining(detail),
    });
  });

  test("a quiet click in silence: accepted", async () => {
    const data = Buffer.alloc(9600);
    data.fill(127, 5000, 5100);
    expect((await make(wavFile({ data }))).report).toEqual({ kind: "accepted", samples: 4800 });
  });

  test("PCM of 601 s: refused", async () => {
    const pcm = Buffer.alloc(2 * 48_000 * 601, 33);
    expect((await make(pcm, { kind: "pcm" })).report).toMatchObject({ code: "audio_too_long" });
  });

  test("PCM with half a sample at its end: only its whole samples", async () => {
    const data = tone(0.1, 48_000, sine(440));
    const { report, pcm } = await make(Buffer.concat([data, Buffer.of(7)]), { kind: "pcm" });
    expect(report).toEqual({ kind: "accepted", samples: 4800 });
    expect(difference(pcm, sine(440))).toBeLessThan(2);
  });
});
