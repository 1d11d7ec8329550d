/** The avatar of a recorded call, with LiveKit's library and a room that is not connected. */
import { expect, test } from "bun:test";
import { TrackKind } from "@livekit/rtc-node";
import { type Fragment, readFragment } from "@realtime-avatar/domain/recordings/fragment";
import { until } from "@realtime-avatar/testing/until";
import { assigned } from "../../test/support/assigned.ts";
import { portrait } from "../renderer/portrait.ts";
import { publishAvatar } from "../room/publish.ts";
import { createRecorder, type RecorderOptions } from "./recorder.ts";

/** `isReceived`: resolves when the person receives the pictures. */
const roomOf = (isReceived: Promise<void>) => {
  const trackPublications = new Map([["TR_1", { kind: TrackKind.KIND_VIDEO, waitForSubscription: () => isReceived }]]);
  return { localParticipant: { publishTrack: async () => {}, trackPublications } } as never;
};
const room = roomOf(Promise.resolve());
const recorded = { ...assigned, label: "AI", recording: { mode: "participants" } } as const;
const opening = portrait.open(recorded, () => Promise.reject(new Error("no file")));

/** A recorder and its fragments. */
const start = (change: Partial<RecorderOptions> = {}) => {
  const fragments: Fragment[] = [];
  const recorder = createRecorder({
    ...{ mode: "participants", hasPictures: true, onBegin: () => {} },
    onFragment: (bytes) => fragments.push(readFragment(bytes) as Fragment),
    onFailure: (error) => {
      throw error;
    },
    ...change,
  });
  return { recorder, fragments };
};
const count = ([fragment]: readonly Fragment[]) => fragment?.pictures?.samples.length ?? 0;

test("an avatar before its person: recorded from the first picture that the person sees, even after the person has left", async () => {
  const { recorder, fragments } = start();
  const rendering = await opening;
  let isWatched = false;
  let pictures = 0;
  const picture = () => {
    pictures++;
    return rendering.picture();
  };
  const shown = { rendering: { ...rendering, picture }, isWatched: () => isWatched };
  const published = await publishAvatar(room, shown, { recorder });
  published.play(new Int16Array(960).fill(9000));
  await Bun.sleep(100);
  expect([pictures, recorder.isRecording()]).toEqual([1, false]);
  isWatched = true;
  await until(() => recorder.isRecording(), { pollMs: 5 });
  isWatched = false;
  const seen = pictures;
  await until(() => pictures > seen + 5, { pollMs: 5 });
  recorder.stop();
  await published.close();
  expect(count(fragments)).toBeWithin(1, pictures);
  // Earlier sound is not recorded.
  const avatar = fragments[0]?.sounds.find(({ role }) => role === "avatar");
  expect(Math.max(...(avatar?.samples.map(({ length }) => length) ?? []))).toBeLessThan(20);
});

test("sound of the avatar: only sent sound is recorded", async () => {
  const loudFrames = async (isPaused: boolean): Promise<number> => {
    const { recorder, fragments } = start({ hasPictures: false });
    const published = await publishAvatar(room, null, { recorder });
    recorder.begin();
    if (isPaused) published.pause();
    for (let index = 0; index < 5; index++) {
      published.play(new Int16Array(960).map((_, at) => 9000 * Math.sin(at)));
      await Bun.sleep(20);
    }
    recorder.stop();
    await published.close();
    return fragments[0]?.sounds[1]?.samples.filter(({ length }) => length > 40).length ?? 0;
  };
  expect(await loudFrames(false)).toBeGreaterThan(2);
  expect(await loudFrames(true)).toBe(0);
});

test("a page that does not receive the pictures: nothing is recorded", async () => {
  const { recorder } = start();
  const shown = { rendering: await opening, isWatched: () => true };
  const published = await publishAvatar(roomOf(new Promise(() => {})), shown, { recorder });
  await Bun.sleep(150);
  expect(recorder.isRecording()).toBe(false);
  recorder.stop();
  await published.close();
});
