import { expect, test } from "bun:test";
import type { VideoFrame } from "@livekit/rtc-node";
import type { SessionId } from "@realtime-avatar/domain/id";
import { isLoud } from "@realtime-avatar/face/loudness";
import { loadPhoto } from "./photo.ts";
import { openPortrait, portrait } from "./portrait.ts";
import type { RendererCall } from "./renderer.ts";

/** 20 ms of a tone. */
const frame = (amplitude: number): Int16Array =>
  Int16Array.from({ length: 960 }, (_, index) => amplitude * Math.sin((index / 48_000) * 2 * Math.PI * 440));
const noFile = () => Promise.reject(new Error("There is no file."));
const avatar = { avatar_id: "ava_x", manifest: { pictures: null } };
const call = {
  ...{
    session_id: "ses_one" as SessionId,
    avatar,
    environment: "live" as const,
    input: { stt_mode: "server" as const },
  },
  ...{ mode: "avatar" as const, label: "AI" },
};

test("frames of a quiet room, and of speech: only speech is loud", () => {
  expect([0, 100, 1000, 12_000].map((amplitude) => isLoud(frame(amplitude)))).toEqual([false, false, true, true]);
});

test("a portrait: grows at once with the current loudness, and shrinks slowly", async () => {
  let now = 0;
  const rendering = await openPortrait(await loadPhoto(avatar, noFile), call, () => now);
  const hearNow = (amplitude: number): VideoFrame => {
    rendering.hear(frame(amplitude), 0);
    return rendering.picture();
  };
  const quiet = rendering.picture();
  expect([quiet.width, quiet.height, quiet.data.length]).toEqual([512, 512, 512 * 512 * 1.5]);
  const seen = new Set<VideoFrame>([quiet]);
  for (let step = 1; step < 8; step++) seen.add(hearNow(260 * 1.72 ** step));
  expect(seen.size).toBe(8);
  const loudest = rendering.picture();
  expect(hearNow(0)).not.toBe(quiet);
  for (let index = 0; index < 100; index++) hearNow(0);
  expect(rendering.picture()).toBe(quiet);
  rendering.hear(frame(20_000), 100);
  now = 99;
  expect(rendering.picture()).toBe(quiet);
  now = 100;
  expect(rendering.picture()).toBe(loudest);
});

test("a portrait, interrupted: dropped sound moves nothing", async () => {
  let now = 0;
  const rendering = await openPortrait(await loadPhoto(avatar, noFile), call, () => now);
  const quiet = rendering.picture();
  rendering.hear(frame(20_000), 100);
  rendering.clear();
  now = 1000;
  expect(rendering.picture()).toBe(quiet);
});

test("a portrait, of a live call, of a test, and of a recorded call: each with its mark", async () => {
  const photo = await loadPhoto(avatar, noFile);
  const luma = async (change: Partial<RendererCall>, x: number, y: number): Promise<number | undefined> =>
    (await openPortrait(photo, { ...call, label: "", ...change })).picture().data[512 * y + x];
  // Each point lies in the box of a mark: TEST, the label, REC.
  expect(await luma({ environment: "test" }, 185, 480)).not.toBe(await luma({}, 185, 480));
  expect(await luma({ label: "AI" }, 18, 30)).not.toBe(await luma({}, 18, 30));
  expect(await luma({ recording: { mode: "audio" } }, 490, 30)).not.toBe(await luma({}, 490, 30));
});

test("a call in the mode voice: reads no file, and draws nothing", async () => {
  const loaded: string[] = [];
  const load = (file: string) => {
    loaded.push(file);
    return noFile();
  };
  const withFile = {
    ...call,
    avatar: { avatar_id: "ava_x", manifest: { pictures: { normalized: { file: "x.webp" } } } },
  };
  const rendering = await portrait.open({ ...withFile, mode: "voice" }, load);
  rendering.hear(frame(12_000), 0);
  expect(loaded).toEqual([]);
  await expect(portrait.open(withFile, load)).rejects.toThrow("There is no file.");
  expect(loaded).toEqual(["x.webp"]);
});
