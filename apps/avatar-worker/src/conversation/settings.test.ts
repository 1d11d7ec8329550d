import { expect, test } from "bun:test";
import { inspect } from "node:util";
import { SyncRequest } from "@realtime-avatar/domain/calls/worker-sync";
import { validate } from "@realtime-avatar/domain/schema";
import { MAX_OPERATOR_VOICES } from "@realtime-avatar/domain/voices/schemas";
import { ConfigError, readVariables, type Variables } from "@realtime-avatar/runtime/config";
import { FLITE_VOICES } from "@realtime-avatar/speech/voices";
import {
  conversationCatalog,
  conversationFeatures,
  packSettings,
  readConversationSettings,
  unpackSettings,
} from "./settings.ts";

const KEY = "sk-secret-0123456789";
const LLM = { LLM_URL: "http://127.0.0.1:11434/v1/", LLM_MODEL: "llama3.2" };
const STT = { STT_URL: "http://127.0.0.1:8000/v1", STT_MODEL: "whisper" };
const read = (variables: Variables) => readVariables(variables, readConversationSettings);

test("no variables: no conversation", () => {
  expect(read({})).toBeNull();
  expect(read({ LLM_URL: "off", OPENAI_API_KEY: KEY })).toBeNull();
});

test("OPENAI_API_KEY alone: model, recognizer and voice of OpenAI", () => {
  const settings = read({ OPENAI_API_KEY: KEY });
  expect(settings?.llm).toMatchObject({ url: "https://api.openai.com/v1", model: "gpt-4.1-mini" });
  expect(settings?.stt).toMatchObject({ url: "https://api.openai.com/v1", model: "gpt-4o-mini-transcribe" });
  expect(settings?.speech.provider).toMatchObject({ url: "https://api.openai.com/v1" });
  expect(settings?.llm.apiKey?.reveal()).toBe(KEY);
  expect(settings).toMatchObject({ maxTokens: 400, maxTurnsPerMinute: 20 });
});

test("another server: only its own key, and typed turns without a recognizer", () => {
  const settings = read({ ...LLM, LLM_INSTRUCTIONS: "Be kind.", LLM_MAX_TOKENS: "50" });
  expect(settings?.llm).toEqual({ url: "http://127.0.0.1:11434/v1", apiKey: null, model: "llama3.2" });
  expect(settings).toMatchObject({ stt: null, instructions: "Be kind.", maxTokens: 50 });
  expect(read({ ...LLM, OPENAI_API_KEY: KEY })?.llm.apiKey).toBeNull();
  expect(read({ ...LLM, LLM_API_KEY: KEY })?.llm.apiKey?.reveal()).toBe(KEY);
});

test("supported fields of a start: those of speech only with a recognizer", () => {
  expect(conversationFeatures({ stt: null })).toEqual([
    ...["conversation", "instructions", "initial_context", "llm", "capabilities"],
  ]);
  expect(conversationFeatures({ stt: read({ ...LLM, ...STT })?.stt ?? null })).toContain("transcription");
});

test("the catalog of a worker: its voices, and the operator's model before the others, each once", () => {
  const settings = read({ ...LLM, LLM_MODELS: " small,llama3.2 , small", TTS_VOICE: "flite-rms" });
  if (!settings) throw new Error("no settings");
  const catalog = conversationCatalog(settings);
  expect(catalog.models).toEqual(["llama3.2", "small"]);
  expect(catalog.voices).toEqual(FLITE_VOICES.map(({ id }) => id));
  expect(read(LLM)?.models).toEqual(["llama3.2"]);
});

test("the most voices and models that an operator can set: at most those of a sync", () => {
  const names = (count: number) => Array.from({ length: count }, (_, at) => `${at}`.padEnd(160, "x"));
  const voices = names(MAX_OPERATOR_VOICES).map((name) => [name, "v"]);
  const settings = read({
    ...{ ...LLM, LLM_MODELS: names(63).join(","), TTS_URL: "http://x/v1", TTS_MODEL: "m" },
    TTS_VOICES: JSON.stringify(Object.fromEntries(voices)),
  });
  if (!settings) throw new Error("no settings");
  const sync = { slots: 1, features: [], calls: [], catalog: conversationCatalog(settings) };
  expect([sync.catalog.models.length, sync.catalog.voices.length]).toEqual([64, MAX_OPERATOR_VOICES + 4]);
  expect(validate(SyncRequest, sync)).toEqual([]);
});

test("settings packed in a message: unpacked unchanged, and printed without a key", () => {
  const settings = read({ OPENAI_API_KEY: KEY, LLM_INSTRUCTIONS: "Be kind." });
  if (!settings) throw new Error("no settings");
  expect(`${inspect(settings, { depth: 9 })}${JSON.stringify(settings)}`).not.toContain(KEY);
  const received = unpackSettings(structuredClone(packSettings(settings)));
  expect(received).toEqual(settings);
  expect([received.llm, received.stt, received.speech.provider].map((each) => each?.apiKey?.reveal())).toEqual([
    ...[KEY, KEY, KEY],
  ]);
});

test.each([
  [{ LLM_URL: "hunter2" }, "LLM_URL"],
  [{ LLM_URL: "http://x/v1?key=hunter2" }, "LLM_URL"],
  [{ LLM_URL: "http://x/v1" }, "LLM_MODEL"],
  [{ LLM_API_KEY: "hunter2" }, "LLM_API_KEY"],
  [{ STT_MODEL: "hunter2" }, "STT_MODEL"],
  [{ OPENAI_API_KEY: KEY, STT_API_KEY: "hunter2" }, "STT_API_KEY"],
  [{ ...LLM, LLM_API_KEY: "hunter2 x" }, "LLM_API_KEY"],
  [{ ...LLM, LLM_MODELS: "a,,b" }, "LLM_MODELS"],
  [{ ...LLM, LLM_MODELS: "x y" }, "LLM_MODELS"],
  [{ ...LLM, LLM_MODELS: Array.from({ length: 64 }, (_, at) => at).join(",") }, "LLM_MODELS"],
  [{ LLM_MODELS: "hunter2" }, "LLM_MODELS"],
  [{ ...LLM, LLM_MAX_TOKENS: "15" }, "LLM_MAX_TOKENS"],
  [{ ...LLM, LLM_MAX_TURNS_PER_MINUTE: "0" }, "LLM_MAX_TURNS_PER_MINUTE"],
  [{ ...LLM, LLM_INSTRUCTIONS: "hunter2".repeat(2000) }, "LLM_INSTRUCTIONS"],
])("%j: an error that names %s without the value", (variables, name) => {
  const refused = expect(() => read(variables));
  refused.toThrow(ConfigError);
  refused.toThrow(name);
  refused.not.toThrow("hunter2");
});
