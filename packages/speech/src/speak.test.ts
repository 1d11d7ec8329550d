import { expect, test } from "bun:test";
import { fixture } from "@realtime-avatar/testing/fixture";
import { FLITE_SAMPLE_RATE, speakWithFlite } from "./flite.ts";
import { MAX_REQUEST_LENGTH } from "./provider.ts";
import { OUTPUT_SAMPLE_RATE } from "./resample.ts";
import { FLITE_SETTINGS, parseVoices } from "./settings.ts";
import { collectSpeech, speak } from "./speak.ts";
import { defaultVoice, type Voice } from "./voices.ts";
import { encodeWav } from "./wav.ts";

const slt = defaultVoice(FLITE_SETTINGS);
const [heart] = parseVoices('{"kokoro-heart": "af_heart"}') as [Voice];

/** A provider that sends a hundred samples at 24 kHz for each character. */
const requests: { input: string; voice: string }[] = [];
const server = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const body = (await request.json()) as { input: string; voice: string };
    requests.push(body);
    return new Response(new Int16Array(100 * body.input.length).fill(1000), {
      headers: { "content-type": "audio/pcm" },
    });
  },
});
await fixture({ close: () => server.stop(true) });
const provider = {
  url: `http://127.0.0.1:${server.port}/v1`,
  apiKey: null,
  model: "kokoro",
  sampleRate: 24_000,
} as const;

test("a text by Flite: its words at 48 kHz, without the markup", async () => {
  const words = await collectSpeech(speakWithFlite("Hello, you.", slt));
  const speech = await collectSpeech(speak("**Hello**, [you](https://a.example). 🎉", slt, FLITE_SETTINGS));
  expect(speech.length).toBe((words.length * OUTPUT_SAMPLE_RATE) / FLITE_SAMPLE_RATE);
});

test("a long text by a provider: one request after another, each of whole sentences, and the sound of all", async () => {
  requests.length = 0;
  const text = Array.from({ length: 60 }, (_, at) => `This is *sentence* ${at}.`).join(" ");
  const speech = await collectSpeech(speak(text, heart, { provider }));
  expect(requests.map(({ input }) => input).join(" ")).toBe(text.replaceAll("*", ""));
  expect(requests.every(({ input, voice }) => input.length <= MAX_REQUEST_LENGTH && voice === "af_heart")).toBe(true);
  expect(requests.length).toBeWithin(2, 6);
  const characters = requests.reduce((sum, { input }) => sum + input.length, 0);
  expect(speech.length).toBe(characters * 200);
});

test("a text without spoken parts: no sound, no request", async () => {
  requests.length = 0;
  expect(await collectSpeech(speak("🎉 ![a](b)", heart, { provider }))).toHaveLength(0);
  expect(requests).toEqual([]);
});

test("a text of more than 5,000 characters: refused by each kind of voice, before a request", () => {
  requests.length = 0;
  for (const voice of [slt, heart]) {
    expect(collectSpeech(speak("a ".repeat(2501), voice, { provider }))).rejects.toThrow(RangeError);
  }
  expect(requests).toEqual([]);
});

test("a voice whose provider is no longer set: voice_refused", () => {
  expect(collectSpeech(speak("Hello.", heart, { provider: null }))).rejects.toMatchObject({ code: "voice_refused" });
});

test("a WAV file: the header that players read, and the samples", () => {
  const bytes = encodeWav(Int16Array.of(1, -2, 32_767), 16_000);
  expect(Buffer.from(bytes).toString("hex")).toBe(
    [
      ...[
        "52494646",
        "2a000000",
        "57415645",
        "666d7420",
        "10000000",
        "0100",
        "0100",
        "803e0000",
        "007d0000",
        "0200",
        "1000",
      ],
      ...["64617461", "06000000", "0100", "feff", "ff7f"],
    ].join(""),
  );
});
