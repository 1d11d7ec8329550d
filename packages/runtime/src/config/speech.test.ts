import { expect, test } from "bun:test";
import { inspect } from "node:util";
import { FLITE_SETTINGS, OPENAI } from "@realtime-avatar/speech/settings";
import { ConfigError, readVariables, type Variables } from "../config.ts";
import { readSpeechSettings } from "./speech.ts";

const read = (variables: Variables) => readVariables(variables, readSpeechSettings);
const KEY = "sk-secret-0123456789";
const SERVER = {
  TTS_URL: "http://127.0.0.1:8880/v1/",
  TTS_MODEL: "kokoro",
  TTS_VOICES: '{"kokoro-heart": "af_heart"}',
};

test("voices, without variables: those of Flite", () => {
  expect(read({})).toEqual(FLITE_SETTINGS);
  expect(read({ TTS_URL: "", OPENAI_API_KEY: "" })).toEqual(FLITE_SETTINGS);
  expect(read({ TTS_VOICE: "flite-awb" }).defaultVoiceId).toBe("flite-awb");
});

test("voices, with OPENAI_API_KEY alone: those of OpenAI", () => {
  const settings = read({ OPENAI_API_KEY: KEY });
  expect(settings.provider).toMatchObject({
    url: "https://api.openai.com/v1",
    model: "gpt-4o-mini-tts",
    sampleRate: 24_000,
  });
  expect(settings.provider?.apiKey?.reveal()).toBe(KEY);
  expect(settings.voices).toEqual(OPENAI.voices);
  expect(settings.defaultVoiceId).toBe("openai-alloy");
  expect(read({ OPENAI_API_KEY: KEY, TTS_VOICE: "openai-nova", TTS_MODEL: "tts-1" })).toMatchObject({
    provider: { model: "tts-1" },
    defaultVoiceId: "openai-nova",
  });
});

test("voices, of a server: its own voices; the slash at the end of its address is removed", () => {
  expect(read({ ...SERVER, TTS_RATE: "22050" })).toMatchObject({
    provider: { url: "http://127.0.0.1:8880/v1", apiKey: null, model: "kokoro", sampleRate: 22_050 },
    voices: [{ id: "kokoro-heart", providerVoice: "af_heart" }],
    defaultVoiceId: "kokoro-heart",
  });
  expect(read({ ...SERVER, TTS_API_KEY: KEY }).provider?.apiKey?.reveal()).toBe(KEY);
});

test("the key of OpenAI, with another server: not sent there", () => {
  expect(read({ ...SERVER, OPENAI_API_KEY: KEY }).provider?.apiKey).toBeNull();
});

test("voices, with TTS_URL=off: those of Flite, whatever else is set", () => {
  expect(read({ ...SERVER, OPENAI_API_KEY: KEY, TTS_URL: "off" })).toEqual(FLITE_SETTINGS);
});

test("all variables of voices, invalid: refused together", () => {
  const names = ["TTS_URL", "TTS_API_KEY", "OPENAI_API_KEY", "TTS_MODEL", "TTS_VOICES", "TTS_RATE", "TTS_VOICE"];
  const bad = Object.fromEntries(names.map((name) => [name, "\0 bad"]));
  expect(() => read(bad)).toThrow(new RegExp(`^${names.map((name) => `${name} must be .*`).join("\\n")}$`));
});

test("the settings of a provider, printed: without the key", () => {
  const settings = read({ OPENAI_API_KEY: KEY });
  expect(`${inspect(settings, { depth: 9 })}${JSON.stringify(settings)}`).not.toContain(KEY);
});

test.each([
  [{ TTS_URL: "api.openai.com" }, "TTS_URL"],
  [{ TTS_URL: `https://user:${KEY}@a.example/v1` }, "TTS_URL"],
  [{ TTS_URL: `https://a.example/v1?key=${KEY}` }, "TTS_URL"],
  [{ TTS_URL: "file:///etc/passwd" }, "TTS_URL"],
  [{ ...SERVER, TTS_MODEL: "" }, "TTS_MODEL"],
  [{ ...SERVER, TTS_VOICES: "" }, "TTS_VOICES"],
  [{ ...SERVER, TTS_VOICES: "{}" }, "TTS_VOICES"],
  [{ ...SERVER, TTS_API_KEY: `${KEY}\n` }, "TTS_API_KEY"],
  [{ ...SERVER, TTS_RATE: "23999" }, "TTS_RATE"],
  [{ ...SERVER, TTS_VOICE: "af_heart" }, "TTS_VOICE"],
  [{ TTS_API_KEY: KEY }, "TTS_API_KEY"],
  [{ TTS_VOICES: '{"kokoro-heart": "af_heart"}' }, "TTS_VOICES"],
  [{ OPENAI_API_KEY: KEY, TTS_API_KEY: KEY }, "TTS_API_KEY"],
  [{ OPENAI_API_KEY: `${KEY} ` }, "OPENAI_API_KEY"],
] as [Variables, string][])("voices, %j: the error names %s, without its value", (variables, name) => {
  const error = (() => {
    try {
      read(variables);
    } catch (thrown) {
      return thrown;
    }
    return null;
  })();
  expect(error).toBeInstanceOf(ConfigError);
  const { message } = error as ConfigError;
  expect(message.split("\n").map((line) => line.split(" ")[0])).toEqual([name]);
  expect(message).not.toContain(KEY);
});
