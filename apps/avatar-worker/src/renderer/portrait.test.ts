import { expect, test } from "bun:test";
import type { VideoFrame } from "@livekit/rtc-node";
import { isLoud } from "./loudness.ts";
import { portrait } from "./portrait.ts";

const frame = (amplitude: number): Int16Array =>
  Int16Array.from({ length: 960 }, (_, index) => amplitude * Math.sin((index / 48_000) * 2 * Math.PI * 440));

test("sound: speech is loud, silence and noise are not", () => {
  expect([0, 100, 1000, 12_000].map((amplitude) => isLoud(frame(amplitude)))).toEqual([false, false, true, true]);
});

test("the portrait: a louder voice shows a larger picture, which shrinks slowly when it ends", async () => {
  const load = () => Promise.reject(new Error("There is no file."));
  const avatar = { avatar_id: "ava_x", manifest: { pictures: null } };
  const call = { avatar, environment: "live", input: { stt_mode: "server" }, mode: "avatar" } as const;
  const rendering = await portrait.open(call, load);
  const quiet = rendering.picture();
  expect([quiet.width, quiet.height, quiet.data.length]).toEqual([512, 512, 512 * 512 * 1.5]);
  const seen = new Set<VideoFrame>([quiet]);
  for (let step = 1; step < 8; step++) {
    rendering.hear(frame(260 * 1.72 ** step));
    seen.add(rendering.picture());
  }
  expect(seen.size).toBe(8);
  const loudest = rendering.picture();
  rendering.hear(frame(0));
  expect(rendering.picture()).not.toBe(quiet);
  for (let index = 0; index < 100; index++) rendering.hear(frame(0));
  expect(rendering.picture()).toBe(quiet);
  rendering.hear(frame(20_000));
  expect(rendering.picture()).toBe(loudest);
});

test("the portrait, in a call by voice: draws no picture; in one with a picture: loads its file", async () => {
  const loaded: string[] = [];
  const load = (file: string) => {
    loaded.push(file);
    return Promise.reject(new Error("There is no file."));
  };
  const avatar = { avatar_id: "ava_x", manifest: { pictures: { normalized: { file: "x.webp" } } } };
  const call = { avatar, environment: "live", input: { stt_mode: "server" } } as const;
  const rendering = await portrait.open({ ...call, mode: "voice" }, load);
  rendering.hear(frame(12_000));
  expect(loaded).toEqual([]);
  await expect(portrait.open({ ...call, mode: "avatar" }, load)).rejects.toThrow("There is no file.");
  expect(loaded).toEqual(["x.webp"]);
});
