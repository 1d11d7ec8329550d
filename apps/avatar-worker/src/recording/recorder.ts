/**
 * Records a call: the sound that the avatar hears and plays, and its pictures. Recording starts with `begin`. The work
 * is spread, so that it does not delay the sound of the call.
 */
import {
  FRAGMENT_FRAME_SAMPLES,
  FRAGMENT_MS,
  FRAGMENT_SAMPLE_RATE,
  type FragmentSound,
  MAX_FRAGMENT_BYTES,
  type SoundRole,
  writeFragment,
} from "@realtime-avatar/domain/recordings/fragment";
import type { RecordedMode } from "@realtime-avatar/domain/recordings/modes";
import { startSteadyInterval } from "../steady-interval.ts";
import { createPictureTrack, type PictureTrack } from "./picture-track.ts";
import { createSoundTrack } from "./sound-track.ts";
import { createTimeline, type Placing } from "./timeline.ts";

const SAMPLES_PER_MS = FRAGMENT_SAMPLE_RATE / 1000;
const FRAME_MS = FRAGMENT_FRAME_SAMPLES / SAMPLES_PER_MS;
const FRAGMENT_FRAMES = Math.ceil(FRAGMENT_MS / FRAME_MS);
/**
 * Two seconds. Once the service has the first fragment of a worker, it also accepts the worker's later fragments, even
 * if the call has moved to another worker. The size of the pictures in this fragment also decides how later pictures
 * are encoded: the pictures of a noisy photo are large.
 */
const FIRST_FRAGMENT_FRAMES = Math.ceil(2000 / FRAME_MS);
/** Age of the sound when it is encoded, because frames of the person come late. */
const DELAY_MS = 300;
/**
 * Maximum number of frames that are encoded at once. After the process has stood still, many frames wait, and a share
 * of `MAX_SHARE` of them is encoded at once.
 */
const MAX_FRAMES = 2;
const MAX_SHARE = 1 / 8;
const STEP_MS = 20;
/** Frames of the person come after they were heard, in bursts. Those of the avatar come before they are played. */
const PERSON: Placing = { tolerance: 100 * SAMPLES_PER_MS, patience: 500 * SAMPLES_PER_MS };
const AVATAR: Placing = { tolerance: 20 * SAMPLES_PER_MS, patience: 0 };

export type Recorder = {
  /** Called when the person knows that the call is recorded. Recording starts, or goes on after `pause`. */
  begin(): void;
  /** Called when another page can have joined as the person. Until `begin`, only silence is recorded. */
  pause(): void;
  isRecording(): boolean;
  /** Adds the person's sound, 16-bit PCM, mono, 48 kHz: its last sample is heard now. */
  hear(pcm: Int16Array): void;
  /** Adds the avatar's sound. Its first sample is played in `aheadMs`. */
  play(pcm: Int16Array, aheadMs: number): void;
  /** The avatar's sound that was not played yet was dropped. */
  clear(): void;
  /** Adds an I420 picture of the avatar, shown from now on. */
  show(picture: Uint8Array): void;
  /** Passes on the last fragment, and ends the recording. */
  stop(): void;
};

export type RecorderOptions = {
  mode: RecordedMode;
  /** Whether the call has pictures. */
  hasPictures: boolean;
  /** Receives a fragment of the recording (recordings/fragment.ts of the domain). */
  onFragment: (bytes: Uint8Array) => void;
  /** Called once, with `begin`. */
  onBegin: () => void;
  /** Called when the recording ends because of a fault. The call continues. */
  onFailure: (error: unknown) => void;
};

/** In milliseconds: a monotonic clock, the time since 1970, and a timer. */
export type RecorderTiming = {
  now: () => number;
  time: () => number;
  every: (ms: number, step: () => void) => () => void;
};
const BY_CLOCK: RecorderTiming = {
  now: () => performance.now(),
  time: Date.now,
  every: (ms, step) => startSteadyInterval(ms, step),
};

/** The sound of a recording: one track of both sides, or one for each. */
const createSounds = (mode: RecordedMode) => {
  const [person, avatar] = [createTimeline(PERSON), createTimeline(AVATAR)];
  const roles: [SoundRole, (typeof person)[]][] =
    mode === "participants"
      ? [
          ["user", [person]],
          ["avatar", [avatar]],
        ]
      : [["both", [person, avatar]]];
  const tracks = roles.map(([role, sources]) => ({ role, encode: createSoundTrack(sources) }));
  let frames: Uint8Array[][] = roles.map(() => []);
  let taken = 0;
  return {
    person,
    avatar,
    /** Number of encoded frames. */
    count: () => taken,
    encode: (): void => {
      for (const [index, { encode }] of tracks.entries()) frames[index]?.push(encode());
      taken++;
    },
    /**
     * Returns the frames since the last call. `toTime`: converts a time of the recording to the time since 1970, both
     * in milliseconds.
     */
    take: (toTime: (ms: number) => number): FragmentSound[] => {
      const done = frames;
      frames = roles.map(() => []);
      const length = done[0]?.length ?? 0;
      const started_at = toTime((taken - length) * FRAME_MS);
      return length === 0 ? [] : tracks.map(({ role }, index) => ({ role, started_at, samples: done[index] ?? [] }));
    },
  };
};

/** Writes a fragment, without its pictures when they are too large. null without tracks. */
const writeTracks = (
  sounds: readonly FragmentSound[],
  encoded: ReturnType<PictureTrack["take"]>,
  toTime: (ms: number) => number,
): Uint8Array | null => {
  const first = encoded?.times[0] ?? 0;
  const pictures = encoded && {
    ...encoded,
    started_at: toTime(first),
    times: encoded.times.map((at) => at - first),
  };
  if (sounds.length === 0 && pictures === null) return null;
  const bytes = writeFragment({ sounds, pictures });
  return bytes.length <= MAX_FRAGMENT_BYTES ? bytes : writeFragment({ sounds, pictures: null });
};

export const createRecorder = (options: RecorderOptions, timing = BY_CLOCK): Recorder => {
  const { mode, hasPictures, onFragment, onBegin, onFailure } = options;
  const sounds = createSounds(mode);
  let beganAt: { now: number; time: number } | null = null;
  let isPaused = false;
  let isOver = false;
  let stopTimer = (): void => {};
  let fragmentFrames = 0;

  const fail = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    stopTimer();
    onFailure(error);
  };
  const pictures = hasPictures && mode !== "audio" ? createPictureTrack(fail, timing.now) : null;
  const sinceBegin = (): number => timing.now() - (beganAt?.now ?? 0);
  const toTime = (ms: number): number => Math.round((beganAt?.time ?? 0) + ms);
  const toSample = (ms: number): number => Math.round(ms * SAMPLES_PER_MS);
  const cut = (isLast: boolean): void => {
    fragmentFrames = sounds.count() + FRAGMENT_FRAMES;
    const bytes = writeTracks(sounds.take(toTime), pictures?.take(isLast) ?? null, toTime);
    if (bytes !== null) onFragment(bytes);
  };
  const step = (): void => {
    const due = Math.floor((sinceBegin() - DELAY_MS) / FRAME_MS) - sounds.count();
    const count = Math.min(due, Math.max(MAX_FRAMES, due * MAX_SHARE));
    for (let index = 0; index < count; index++) {
      sounds.encode();
      if (sounds.count() >= fragmentFrames) cut(false);
    }
  };
  /** Runs `work` while the call is recorded. A fault in it does not disturb the call. */
  const guarded = (work: () => void): void => {
    if (beganAt === null || isOver) return;
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };
  const record = (work: () => void): void => {
    if (!isPaused) guarded(work);
  };
  return {
    begin: () => {
      isPaused = false;
      if (beganAt !== null || isOver) return;
      beganAt = { now: timing.now(), time: timing.time() };
      fragmentFrames = FIRST_FRAGMENT_FRAMES;
      stopTimer = timing.every(STEP_MS, () => guarded(step));
      onBegin();
    },
    pause: () => {
      isPaused = true;
    },
    isRecording: () => beganAt !== null && !isPaused && !isOver,
    hear: (pcm) => record(() => sounds.person.add(pcm, toSample(sinceBegin()) - pcm.length)),
    play: (pcm, aheadMs) => record(() => sounds.avatar.add(pcm, toSample(sinceBegin() + aheadMs))),
    clear: () => guarded(() => sounds.avatar.clear(toSample(sinceBegin()))),
    show: (picture) => record(() => pictures?.add(picture, Math.round(sinceBegin()))),
    stop: () => {
      guarded(() => {
        sounds.avatar.clear(toSample(sinceBegin()));
        // The encoder delays sound by a frame: one more frame returns the last sound.
        const last = Math.ceil(sinceBegin() / FRAME_MS) + 1;
        while (sounds.count() < last) sounds.encode();
        cut(true);
      });
      isOver = true;
      stopTimer();
    },
  };
};
