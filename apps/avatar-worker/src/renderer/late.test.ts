import { expect, test } from "bun:test";
import { createLateRendering } from "./late.ts";
import type { Rendering } from "./renderer.ts";

const PCM = new Int16Array(960);

/** A rendering that records its calls, and a function that opens it. */
const createOpening = () => {
  const told: unknown[] = [];
  const rendering: Rendering = {
    hear: (_, delayMs) => void told.push(["hear", delayMs]),
    clear: () => void told.push("clear"),
    picture: () => "picture" as never,
    think: (isThinking) => void told.push(["think", isThinking]),
    gesture: () => "accepted",
  };
  const { promise, resolve, reject } = Promise.withResolvers<Rendering>();
  return { told, promise, open: () => resolve(rendering), fail: () => reject(new Error("no file")) };
};

test("an avatar that is opened while it speaks: sound from then on is passed on with its time", async () => {
  const { told, promise, open } = createOpening();
  let now = 1000;
  const rendering = createLateRendering(promise, () => now);
  rendering.think(true);
  rendering.hear(PCM, 0);
  rendering.hear(PCM, 300);
  now = 1100;
  rendering.hear(PCM, 220);
  expect(rendering.gesture("nod")).toBe("busy");
  expect(() => rendering.picture()).toThrow();
  open();
  await promise;
  expect(told).toEqual([
    ["think", true],
    ["hear", 200],
    ["hear", 220],
  ]);
  rendering.hear(PCM, 40);
  rendering.think(false);
  rendering.clear();
  expect(told.slice(3)).toEqual([["hear", 40], ["think", false], "clear"]);
  expect([rendering.gesture("nod"), rendering.picture() as unknown]).toEqual(["accepted", "picture"]);
});

test("speech that is interrupted before the avatar is open: not passed on", async () => {
  const { told, promise, open } = createOpening();
  const rendering = createLateRendering(promise, () => 0);
  rendering.hear(PCM, 500);
  rendering.clear();
  open();
  await promise;
  expect(told).toEqual([["think", false]]);
});

test("an avatar that cannot be opened: the call continues without pictures", async () => {
  const { promise, fail } = createOpening();
  const rendering = createLateRendering(promise);
  fail();
  await promise.catch(() => {});
  rendering.hear(PCM, 0);
  rendering.think(true);
  expect(rendering.gesture("nod")).toBe("busy");
});
