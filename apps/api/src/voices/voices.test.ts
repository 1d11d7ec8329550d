import { afterEach, describe, expect, test } from "bun:test";
import { validate } from "@realtime-avatar/domain/schema";
import { VoicePage } from "@realtime-avatar/domain/voices/schemas";
import { readFliteSample } from "@realtime-avatar/speech/samples/flite-samples";
import { parseVoices, type SpeechSettings } from "@realtime-avatar/speech/settings";
import { FLITE_VOICES, type Voice } from "@realtime-avatar/speech/voices";
import { Secret } from "@realtime-avatar/storage/secret";
import { fixture } from "@realtime-avatar/testing/fixture";
import { callAnew, PUBLIC_URL, startApi, TEST_CONFIG, testStorage } from "../../test/support/api.ts";
import { createVoiceSamples } from "./samples.ts";

const KEY = "sk-secret-0123456789";
const SAMPLE_RATE = 24_000;

/** The provider of the tests. Each test decides how it responds. */
let requests: string[] = [];
let respond: () => Response | Promise<Response> = () => new Response("");
const provider = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const { voice } = (await request.json()) as { voice: string };
    requests.push(voice);
    return respond();
  },
});
await fixture({ close: () => provider.stop(true) });
afterEach(() => {
  requests = [];
});

const soundOf = (samples: number) => (): Response =>
  new Response(new Int16Array(samples).fill(1000), { headers: { "content-type": "audio/pcm" } });

const VOICES = parseVoices(
  JSON.stringify({
    "kokoro-heart": { voice: "af_heart", name: "Heart", language: "en-US" },
    ...Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`kokoro-${at}-voice`, `v${at}`])),
  }),
) as [Voice, ...Voice[]];
const speech: SpeechSettings = {
  provider: {
    url: `http://127.0.0.1:${provider.port}/v1`,
    apiKey: new Secret(KEY),
    model: "kokoro",
    sampleRate: SAMPLE_RATE,
  },
  voices: VOICES,
  defaultVoiceId: "kokoro-heart",
};

const api = await startApi(testStorage, { config: { ...TEST_CONFIG, speech } });
const key = await api.key({ scopes: ["avatars:read"] });
const sample = (id: string): string => `/api/v1/voices/${id}/sample`;

describe("the list of voices", () => {
  test("the voices, without configuration: those of Flite, on one page", async () => {
    const { status, body, headers } = await callAnew(api.database.db)("GET", "/api/v1/voices", { key });
    expect([status, headers.get("content-type"), body.nextCursor]).toEqual([200, "application/json", null]);
    expect(validate(VoicePage, body)).toEqual([]);
    expect(body.data.map(({ id }: Voice) => id)).toEqual(FLITE_VOICES.map(({ id }) => id));
    expect(body.data[0]).toEqual({
      id: "flite-slt",
      name: "Flite slt (female, American)",
      language: "en-US",
      provider: "flite",
      isDefault: true,
      sampleUrl: `${PUBLIC_URL}${sample("flite-slt")}`,
    });
  });

  test("the voices, of an operator: first, and without their names at the provider", async () => {
    const { body, text } = await api.call("GET", "/api/v1/voices", { key });
    expect(body.data.map(({ id, isDefault }: { id: string; isDefault: boolean }) => [id, isDefault])).toEqual(
      [...VOICES, ...FLITE_VOICES].map(({ id }) => [id, id === "kokoro-heart"]),
    );
    for (const hidden of ["af_heart", KEY, String(provider.port)]) expect(text).not.toContain(hidden);
  });

  test("the voices, with a parameter: 422", async () => {
    expect((await api.call("GET", "/api/v1/voices?limit=1", { key })).status).toBe(422);
    expect((await api.call("GET", `${sample("flite-slt")}?text=hello`, { key })).status).toBe(422);
  });
});

/** The bytes of a sample. */
const bytesOf = async (id: string): Promise<{ response: Response; bytes: Uint8Array }> => {
  const response = await fetch(`${api.url}${sample(id)}`, { headers: { authorization: `Bearer ${key}` } });
  return { response, bytes: new Uint8Array(await response.arrayBuffer()) };
};

describe("a sample", () => {
  test.each(FLITE_VOICES)("a sample of $id: its WAV file", async ({ id }) => {
    const { response, bytes } = await bytesOf(id);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "audio/wav"]);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(bytes).toEqual(await readFliteSample(id));
    // A stream releases sent bytes, so the cache must keep a copy.
    expect((await bytesOf(id)).bytes).toEqual(bytes);
  });

  test("a sample, by HEAD: only the headers", async () => {
    const { status, text, headers } = await api.call("HEAD", sample("flite-slt"), { key });
    expect([status, text, headers.get("content-type")]).toEqual([200, "", "audio/wav"]);
  });

  test.each(["flite-xxx", "af_heart", "kokoro-9-voice", "constructor", "..%2Fflite-slt", "flite-slt%00"])(
    "a sample, of an unknown voice (%s): 404",
    async (id) => {
      expect((await api.call("GET", sample(id), { key })).status).toBe(404);
    },
  );

  test("a sample, without the scope: 403; of a person's page without a key: 401", async () => {
    const other = await api.key({ scopes: ["usage:read"] });
    expect((await api.call("GET", sample("flite-slt"), { key: other })).body.code).toBe("insufficient_scope");
    expect((await api.call("GET", sample("flite-slt"))).status).toBe(401);
  });

  test("a sample of a provider, requested by many at once: one request to the provider, also for later ones", async () => {
    const { call } = api;
    const released = Promise.withResolvers<void>();
    respond = async () => {
      await released.promise;
      // A body in one piece, which a stream would release.
      return soundOf(SAMPLE_RATE)();
    };
    const all = Promise.all(Array.from({ length: 20 }, () => call("GET", sample("kokoro-heart"), { key })));
    while (requests.length === 0) await Bun.sleep(5);
    released.resolve();
    const answers = await all;
    expect(new Set(answers.map(({ status, text }) => `${status} ${text.slice(0, 4)}`))).toEqual(new Set(["200 RIFF"]));
    expect((await call("GET", sample("kokoro-heart"), { key })).text.slice(0, 4)).toBe("RIFF");
    expect(requests).toEqual(["af_heart"]);
  });

  test.each([
    ["refuses the key", 401, "kokoro-1-voice"],
    ["has too many requests", 429, "kokoro-2-voice"],
    ["fails", 500, "kokoro-3-voice"],
  ])("a sample of a provider that %s: 503 without its text, and no further request at once", async (_, status, id) => {
    respond = () => Response.json({ error: { message: `PROVIDER-TEXT ${KEY}` } }, { status });
    const { call } = api;
    const first = await call("GET", sample(id), { key });
    expect([first.status, first.body.code, first.body.retryable]).toEqual([503, "unavailable", true]);
    expect(Number(first.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await call("GET", sample(id), { key })).status).toBe(503);
    expect(requests).toHaveLength(1);
    for (const text of [first.text, api.log.join()]) expect(text).not.toMatch(/PROVIDER-TEXT|sk-secret/);
    // The built-in voices still have samples.
    expect((await call("GET", sample("flite-slt"), { key })).status).toBe(200);
  });
});

describe("the cache of samples", () => {
  const [heart, ...others] = VOICES;

  test("an endless voice: cut at ten seconds", async () => {
    respond = soundOf(50 * SAMPLE_RATE);
    expect((await createVoiceSamples(speech).read(heart)).length).toBe(44 + 2 * 10 * SAMPLE_RATE);
  });

  test("a voice whose provider failed, five seconds later: requested again", async () => {
    let now = 0;
    const samples = createVoiceSamples(speech, { now: () => now });
    respond = () => new Response(null, { status: 500 });
    expect(samples.read(heart)).rejects.toMatchObject({ code: "unavailable" });
    await samples.read(heart).catch(() => {});
    now = 4999;
    expect(samples.read(heart)).rejects.toMatchObject({ code: "unavailable" });
    now = 5000;
    respond = soundOf(SAMPLE_RATE);
    expect((await samples.read(heart)).length).toBe(44 + 2 * SAMPLE_RATE);
    expect(requests).toHaveLength(2);
  });

  test("more bytes than fit: the least recently requested sample is made again", async () => {
    respond = soundOf(SAMPLE_RATE);
    const samples = createVoiceSamples(speech, { maxBytes: 2.5 * 2 * SAMPLE_RATE });
    const [first, second] = others as [Voice, Voice];
    for (const voice of [heart, first, heart, second, heart, first]) await samples.read(voice);
    expect(requests).toEqual([heart, first, second, first].map(({ providerVoice }) => providerVoice));
  });

  test("a sample that is larger than the cache: made, but not cached", async () => {
    respond = soundOf(SAMPLE_RATE);
    const samples = createVoiceSamples(speech, { maxBytes: 100 });
    expect((await samples.read(heart)).length).toBe((await samples.read(heart)).length);
    expect(requests).toHaveLength(2);
  });

  test("more voices at once than the limit: refused without a request", async () => {
    const released = Promise.withResolvers<void>();
    respond = async () => {
      await released.promise;
      return soundOf(SAMPLE_RATE)();
    };
    const samples = createVoiceSamples(speech);
    const running = others.slice(0, 4).map((voice) => samples.read(voice));
    expect(samples.read(heart)).rejects.toMatchObject({ code: "unavailable" });
    released.resolve();
    expect(await Promise.all(running)).toHaveLength(4);
    expect((await samples.read(heart)).length).toBeGreaterThan(44);
    expect(requests).toHaveLength(5);
  });
});
