import { expect, test } from "bun:test";
import { FLITE_SETTINGS } from "@realtime-avatar/speech/settings";
import { chooseModel, chooseVoice } from "./voice.ts";

test.each([
  ["flite-rms", "flite-awb", "flite-rms"],
  [undefined, "flite-awb", "flite-awb"],
  ["of-another", "flite-awb", "flite-awb"],
  [7, "flite-awb", "flite-awb"],
  [undefined, "of-another", "flite-slt"],
  ["of-another", undefined, "flite-slt"],
  [undefined, undefined, "flite-slt"],
])("a start that names %j, an avatar with %j: %s", (named, ofAvatar, chosen) => {
  const input = { stt_mode: "server", ...(named !== undefined && { voice: { voice_id: named } }) } as const;
  const assigned = { input, ...(ofAvatar !== undefined && { default_voice_id: ofAvatar }) };
  expect(chooseVoice(assigned, FLITE_SETTINGS).id).toBe(chosen);
});

test("a voice without an id: the voice of the avatar", () => {
  const input = { stt_mode: "server", voice: { speed: 2 } } as const;
  expect(chooseVoice({ input, default_voice_id: "flite-awb" }, FLITE_SETTINGS).id).toBe("flite-awb");
});

test.each([
  ["small", "small"],
  ["of-another-worker", "default"],
  [null, "default"],
  [undefined, "default"],
])("a start that names the model %j: asks %s", (model, chosen) => {
  const settings = { llm: { url: "http://x/v1", apiKey: null, model: "default" }, models: ["default", "small"] };
  expect(chooseModel({ llm: model === undefined ? null : { model } }, settings)).toBe(chosen);
});
