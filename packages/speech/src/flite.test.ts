import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { DIGESTS, TEXT } from "./flite.testing.ts";
import { FLITE_SAMPLE_RATE, speakWithFlite } from "./flite.ts";
import { collectSpeech } from "./speak.ts";
import { FLITE_VOICES } from "./voices.ts";

const [slt] = FLITE_VOICES as [(typeof FLITE_VOICES)[number]];
const digest = (pcm: Int16Array): string =>
  createHash("sha256")
    .update(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength))
    .digest("hex");

const loudness = (pcm: Int16Array): number => Math.sqrt(pcm.reduce((sum, sample) => sum + sample ** 2, 0) / pcm.length);

describe("Flite", () => {
  test.each(FLITE_VOICES)("a voice of Flite, $id: speaks a text, always with the same bytes", async (voice) => {
    const pcm = await collectSpeech(speakWithFlite(TEXT, voice));
    expect(pcm.length / FLITE_SAMPLE_RATE).toBeWithin(2, 5);
    expect(loudness(pcm)).toBeWithin(500, 10_000);
    expect(digest(pcm)).toBe(DIGESTS[voice.id] ?? "");
  });

  test("two texts at once: each sounds as it does alone", async () => {
    const texts = ["The first text is this one.", "And the second one is longer than the first."];
    const alone: string[] = [];
    for (const text of texts) alone.push(digest(await collectSpeech(speakWithFlite(text, slt))));
    const both = await Promise.all(texts.map((text) => collectSpeech(speakWithFlite(text, slt))));
    expect(both.map(digest)).toEqual(alone);
  });

  test("a text of several pieces: the first piece is available before the second begins", async () => {
    const speech = speakWithFlite("The quick brown fox jumps over the lazy dog. ".repeat(10), slt);
    const first = await speech.next();
    expect(first.value?.length).toBeGreaterThan(FLITE_SAMPLE_RATE);
    expect((await speech.next()).done).toBe(false);
    await speech.return(undefined);
  });

  test.each([
    ["", 0],
    ["日本語です。", 0],
    ["...", 0],
  ])("a text that Flite cannot speak, %j: no sound", async (text, length) => {
    expect(await collectSpeech(speakWithFlite(text, slt))).toHaveLength(length);
  });

  test.each(["-voice awb", "-o /etc/passwd", "<speak>hi</speak>", "$(id) `id`", "--help", "\0", "%n%s%x", "'\"\\"])(
    "a text that looks like an option or a command, %j: spoken",
    async (text) => {
      const pcm = await collectSpeech(speakWithFlite(`Say ${text} now`, slt));
      expect(pcm.length / FLITE_SAMPLE_RATE).toBeWithin(0.5, 8);
      expect((await collectSpeech(speakWithFlite(text, slt))).length / FLITE_SAMPLE_RATE).toBeLessThan(6);
    },
  );

  test("a text of more than 5,000 characters: refused", async () => {
    expect(collectSpeech(speakWithFlite("a".repeat(5001), slt))).rejects.toThrow(RangeError);
  });

  test("speech of more than 600 seconds: refused", async () => {
    const speech = collectSpeech(speakWithFlite("999 ".repeat(1250), { ...slt, providerVoice: "kal16" }));
    expect(speech).rejects.toMatchObject({ code: "voice_refused" });
    await speech.catch(() => {});
  });

  test("aborted between two pieces: ends with the reason", async () => {
    const controller = new AbortController();
    const speech = speakWithFlite("The quick brown fox jumps over the lazy dog. ".repeat(10), slt, controller.signal);
    await speech.next();
    controller.abort(new Error("enough"));
    expect(speech.next()).rejects.toThrow("enough");
  });
});
