import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { join } from "node:path";
import likelihoods from "./likelihoods.json" with { type: "json" };
import { loadNetwork, parseNetwork } from "./network.ts";
import { createVad, WINDOW_SAMPLES } from "./vad.ts";

const REPOSITORY = join(import.meta.dir, "../../../../..");
const WAV_HEADER = 44;
const weights = await Bun.file(join(import.meta.dir, "silero-vad.bin")).arrayBuffer();

/** The windows of a voice of flite at 16 kHz. */
const readWindows = async (): Promise<Float32Array[]> => {
  const bytes = await Bun.file(join(REPOSITORY, "packages/face/src/testing/speech.wav")).arrayBuffer();
  const sound = Float32Array.from(new Int16Array(bytes, WAV_HEADER), (value) => value / 32_768);
  return Array.from({ length: Math.floor(sound.length / WINDOW_SAMPLES) }, (_, index) =>
    sound.slice(index * WINDOW_SAMPLES, (index + 1) * WINDOW_SAMPLES),
  );
};
const windows = await readWindows();
const silence = new Float32Array(WINDOW_SAMPLES);

describe("voice activity", () => {
  test("the likelihoods of a voice: equal to those of onnxruntime within 0.001", () => {
    const vad = createVad(loadNetwork());
    expect(likelihoods.length).toBe(windows.length);
    expect(likelihoods.filter((likelihood) => likelihood > 0.5).length).toBeGreaterThan(100);
    for (const [index, window] of windows.entries()) {
      expect(Math.abs(vad.hear(window) - (likelihoods[index] ?? Number.NaN))).toBeLessThan(0.001);
    }
  });

  test("two voices at once: each has its own state", () => {
    const one = createVad(loadNetwork());
    const other = createVad(loadNetwork());
    for (const [index, window] of windows.entries()) {
      other.hear(windows[windows.length - 1 - index] ?? silence);
      expect(Math.abs(one.hear(window) - (likelihoods[index] ?? Number.NaN))).toBeLessThan(0.001);
    }
  });

  test("a skipped window: the next one continues its sound", () => {
    const [first = silence, second = silence, third = silence] = windows.slice(20);
    const results = [true, false].map((isPassed) => {
      const vad = createVad(loadNetwork());
      vad.hear(first);
      if (isPassed) vad.skip(second);
      return vad.hear(third);
    });
    const vad = createVad(loadNetwork());
    vad.hear(first);
    const context = new Float32Array(WINDOW_SAMPLES);
    context.set(second.subarray(WINDOW_SAMPLES - 64), WINDOW_SAMPLES - 64);
    vad.skip(context);
    expect(vad.hear(third)).toBe(results[0] as number);
    expect(results[0]).not.toBe(results[1]);
  });

  test("a window of another length: refused", () => {
    expect(() => createVad(loadNetwork()).hear(new Float32Array(511))).toThrow("a window has 511 samples");
  });
});

describe("the weights", () => {
  test("silero-vad.bin, compared with the README of its conversion: the same file", async () => {
    const text = await Bun.file(join(REPOSITORY, "scripts/convert-vad/README.md")).text();
    expect(text).toContain(createHash("sha256").update(new Uint8Array(weights)).digest("hex"));
  });

  test("a file of another format or length: refused", () => {
    expect(() => parseNetwork(new ArrayBuffer(0))).toThrow("unknown format");
    expect(() => parseNetwork(new ArrayBuffer(weights.byteLength))).toThrow("unknown format");
    expect(() => parseNetwork(weights.slice(0, -4))).toThrow("too short");
    const longer = new Uint8Array(weights.byteLength + 4);
    longer.set(new Uint8Array(weights));
    expect(() => parseNetwork(longer.buffer)).toThrow("890380 bytes instead of 890376");
  });
});
