import { describe, expect, test } from "bun:test";
import { type Fragment, type FragmentSound, readFragment } from "@realtime-avatar/domain/recordings/fragment";
import { PICTURE_LENGTH } from "@realtime-avatar/face/picture";
import { createRecorder, type RecorderOptions } from "./recorder.ts";

/** The time of a test's start, since 1970. */
const TIME = 1_700_000_000_000;
const FRAME_MS = 1024 / 48;
/** A frame of silence after silence has a few bytes; a frame with a tone has many. */
const LOUD_BYTES = 40;

const tone = (ms: number): Int16Array =>
  Int16Array.from({ length: 48 * ms }, (_, index) => Math.round(9000 * Math.sin(index / 12)));

/** A recorder on a clock that a test moves. */
const start = (options: Partial<RecorderOptions> = {}) => {
  const fragments: Fragment[] = [];
  const failures: unknown[] = [];
  let begins = 0;
  let now = 5000;
  let step: (() => void) | null = null;
  const recorder = createRecorder(
    {
      ...{ mode: "participants", hasPictures: false },
      onFragment: (bytes) => fragments.push(readFragment(bytes) as Fragment),
      onBegin: () => void begins++,
      onFailure: (error) => failures.push(error),
      ...options,
    },
    {
      now: () => now,
      time: () => TIME + now,
      every: (_, next) => {
        step = next;
        return () => {
          step = null;
        };
      },
    },
  );
  /** Moves the clock in steps of 10 ms, and calls `each` after each step. */
  const pass = (ms: number, each = (): void => {}): void => {
    for (let passed = 10; passed <= ms; passed += 10) {
      now += 10;
      each();
      if (passed % 20 === 0) step?.();
    }
  };
  const standStill = (ms: number): void => {
    now += ms;
  };
  return { recorder, fragments, failures, begins: () => begins, pass, standStill, isRunning: () => step !== null };
};

/** The sound of a role in all fragments. Fails on gaps. */
const join = (fragments: readonly Fragment[], role: FragmentSound["role"]) => {
  const tracks = fragments.map(({ sounds }) => sounds.find((sound) => sound.role === role) as FragmentSound);
  const samples: Uint8Array[] = [];
  const started_at = tracks[0]?.started_at ?? 0;
  for (const track of tracks) {
    expect(track.started_at).toBe(Math.round(started_at + samples.length * FRAME_MS));
    samples.push(...track.samples);
  }
  const loud = samples.flatMap(({ length }, index) => (length > LOUD_BYTES ? [index] : []));
  /** The begin and the end of the loud sound, in milliseconds. Encoding spreads it to the next frame. */
  const loudMs = [(loud[0] ?? 0) * FRAME_MS, (loud.at(-1) ?? 0) * FRAME_MS];
  return { started_at, count: samples.length, loudMs, loud: loud.length };
};

describe("a recorder", () => {
  test("a pause: silence until the next begin, without a gap", () => {
    const { recorder, fragments, pass, begins } = start();
    recorder.begin();
    recorder.pause();
    expect(recorder.isRecording()).toBe(false);
    pass(1000, () => {
      recorder.hear(tone(10));
      recorder.play(tone(10), 0);
    });
    recorder.begin();
    expect(recorder.isRecording()).toBe(true);
    pass(1000, () => recorder.hear(tone(10)));
    recorder.stop();
    const { count, loudMs } = join(fragments, "user");
    expect(count * FRAME_MS).toBeWithin(2000, 2100);
    expect(loudMs[0]).toBeGreaterThan(900);
    expect([join(fragments, "avatar").loud, begins()]).toEqual([0, 1]);
  });

  test("sound before the person knows about the recording: not recorded", () => {
    const { recorder, fragments, pass, begins } = start();
    pass(1000, () => recorder.hear(tone(10)));
    recorder.play(tone(20), 0);
    expect([recorder.isRecording(), begins()]).toEqual([false, 0]);
    recorder.begin();
    recorder.begin();
    pass(1000, () => recorder.hear(new Int16Array(480)));
    recorder.stop();
    expect(begins()).toBe(1);
    for (const role of ["user", "avatar"] as const) {
      const { started_at, loud } = join(fragments, role);
      expect([started_at, loud]).toEqual([TIME + 6000, 0]);
    }
  });

  test("a call of 25 seconds: fragments of two and of ten seconds without a gap, and the rest at the end", () => {
    const { recorder, fragments, pass, isRunning } = start();
    recorder.begin();
    pass(25_000);
    expect(fragments).toHaveLength(3);
    const lengths = fragments.map(({ sounds }) => sounds.map(({ samples }) => samples.length));
    expect(lengths).toEqual([
      [94, 94],
      [469, 469],
      [469, 469],
    ]);
    recorder.stop();
    recorder.stop();
    pass(11_000, () => recorder.hear(tone(10)));
    expect(fragments).toHaveLength(4);
    expect([isRunning(), recorder.isRecording()]).toEqual([false, false]);
    const { started_at, count } = join(fragments, "avatar");
    expect(started_at).toBe(TIME + 5000);
    // The encoder needs one more frame for the last sound.
    expect(count).toBe(Math.ceil(25_000 / FRAME_MS) + 1);
  });

  test("the voices of both sides: at their times, separate or mixed", () => {
    const record = (mode: RecorderOptions["mode"]): Fragment[] => {
      const { recorder, fragments, pass } = start({ mode });
      recorder.begin();
      pass(2000, () => recorder.hear(new Int16Array(480)));
      pass(1000, () => recorder.hear(tone(10)));
      pass(1000, () => recorder.hear(new Int16Array(480)));
      // The sound is added 60 ms before it is played.
      for (let index = 0; index < 50; index++) {
        recorder.play(tone(20), 60);
        pass(20);
      }
      pass(1000);
      recorder.stop();
      return fragments;
    };
    const apart = record("participants");
    const [user, avatar] = [join(apart, "user"), join(apart, "avatar")];
    for (const [{ loudMs, loud }, startMs] of [
      [user, 2000],
      [avatar, 4060],
    ] as const) {
      expect(Math.abs((loudMs[0] ?? 0) - startMs)).toBeLessThan(FRAME_MS);
      expect(Math.abs(loud * FRAME_MS - 1000)).toBeLessThan(3 * FRAME_MS);
    }
    const mixed = record("audio");
    for (const { sounds } of mixed) expect(sounds.map(({ role }) => role)).toEqual(["both"]);
    const both = join(mixed, "both");
    expect(both.loud).toBe(user.loud + avatar.loud);
    expect([both.loudMs[0], both.loudMs[1]]).toEqual([user.loudMs[0], avatar.loudMs[1]]);
  });

  test("an interrupted avatar: the rest of its sound is not recorded", () => {
    const { recorder, fragments, pass } = start();
    recorder.begin();
    pass(1000);
    for (let index = 0; index < 10; index++) recorder.play(tone(20), 20 * index);
    pass(100);
    recorder.clear();
    pass(1000);
    // The end of a call also cuts off the sound.
    for (let index = 0; index < 10; index++) recorder.play(tone(20), 20 * index);
    pass(40);
    recorder.stop();
    const { loud } = join(fragments, "avatar");
    // 100 and 40 ms, each spread to two more frames. The whole sound would have 400 ms.
    expect(loud * FRAME_MS).toBeWithin(140, 260);
  });

  test("a process that stands still for two seconds: the sound of that time comes late, but at its place", () => {
    const { recorder, fragments, pass, standStill } = start();
    recorder.begin();
    pass(1000, () => recorder.hear(new Int16Array(480)));
    standStill(2000);
    for (let index = 0; index < 200; index++) recorder.hear(index < 100 ? new Int16Array(480) : tone(10));
    pass(2000, () => recorder.hear(new Int16Array(480)));
    recorder.stop();
    const { loudMs, loud } = join(fragments, "user");
    expect(Math.abs((loudMs[0] ?? 0) - 2000)).toBeLessThan(FRAME_MS);
    expect(Math.abs(loud * FRAME_MS - 1000)).toBeLessThan(3 * FRAME_MS);
  });

  test("a fault: ends the recording, is reported once, and does not disturb the call", () => {
    const { recorder, failures, pass, isRunning } = start({
      onFragment: () => {
        throw new Error("full");
      },
    });
    recorder.begin();
    pass(11_000);
    recorder.hear(tone(10));
    recorder.stop();
    expect(failures).toEqual([new Error("full")]);
    expect([isRunning(), recorder.isRecording()]).toEqual([false, false]);
  });
});

describe("a recorder of pictures", () => {
  const picture = (value: number): Uint8Array => new Uint8Array(PICTURE_LENGTH).fill(value);

  test("pictures of a few seconds: in groups that begin with a key picture, at their times, in fragments with the sound", async () => {
    const { recorder, fragments, pass } = start({ mode: "audio_video", hasPictures: true });
    recorder.show(picture(1));
    recorder.begin();
    const shown: number[] = [];
    const encoded = () => fragments.flatMap(({ pictures }) => (pictures === null ? [] : [pictures]));
    for (let index = 0; encoded().length < 2; index++) {
      shown.push(TIME + 5000 + 200 * index);
      recorder.show(picture(100 + (index % 20)));
      // Another room also shows a picture.
      recorder.show(picture(3));
      pass(200);
      // Time for the encoder to be opened.
      await Bun.sleep(1);
    }
    recorder.stop();
    const times = encoded().flatMap((track) => track.times.map((ms) => track.started_at + ms));
    expect(times).toEqual(shown.slice(-times.length));
    for (const { samples, keys, sequence, picture: parameters } of encoded()) {
      const kinds = samples.map((unit) => (unit[0] ?? 0) & 31);
      expect(kinds).toEqual(samples.map((_, index) => (keys.includes(index) ? 5 : 1)));
      expect([sequence, parameters].map((set) => (Buffer.from(set, "base64")[0] ?? 0) & 31)).toEqual([7, 8]);
    }
    expect(fragments[1]?.sounds).toHaveLength(1);
  });

  test("a call by voice, or a recording of sound: no pictures", () => {
    for (const options of [
      { mode: "audio_video", hasPictures: false },
      { mode: "audio", hasPictures: true },
    ] as const) {
      const { recorder, fragments, pass } = start(options);
      recorder.begin();
      recorder.show(picture(1));
      pass(500);
      recorder.stop();
      expect(fragments.map(({ pictures, sounds }) => [pictures, sounds.length])).toEqual([[null, 1]]);
    }
  });
});
