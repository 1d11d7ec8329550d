import { expect, test } from "bun:test";
import { PICTURE_LENGTH } from "@realtime-avatar/face/picture";
import { createPictureTrack } from "./picture-track.ts";

test("an encoder that takes 30 ms for a picture: the next one is encoded after 90 ms", async () => {
  let clock = 0;
  const failures: unknown[] = [];
  const track = createPictureTrack(
    (error) => failures.push(error),
    () => {
      clock += 30;
      return clock;
    },
  );
  const picture = new Uint8Array(PICTURE_LENGTH).fill(128);
  const times: number[] = [];
  for (let at = 0; times.length < 4; at += 30) {
    track.add(picture, at);
    if (at % 600 === 0) times.push(...(track.take(false)?.times ?? []));
    // Time for the encoder to be opened.
    await Bun.sleep(1);
  }
  track.take(true);
  const steps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect([steps[0], failures]).toEqual([90, []]);
  expect(Math.min(...steps)).toBe(90);
});
