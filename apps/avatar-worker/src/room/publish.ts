/** The tracks of the avatar. */
import {
  AudioFrame,
  AudioSource,
  LocalAudioTrack,
  type LocalTrack,
  LocalVideoTrack,
  type Room,
  TrackPublishOptions,
  TrackSource,
  VideoSource,
} from "@livekit/rtc-node";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";
import { PICTURES_PER_SECOND, type Rendering, SAMPLE_RATE } from "../renderer/renderer.ts";
import { startSteadyInterval } from "../steady-interval.ts";
import { withTimeout } from "./join.ts";

const PUBLISH_MS = 10_000;
/**
 * Enough for a picture of this size: a speaking face, encoded in real time, differs from the original by 47 dB (PSNR), and by 49 dB at
 * half as much again. Without a maximum, the first seconds are at a quarter of the size.
 */
const MAX_BITRATE = 1_000_000n;
/** Sound and picture in one media stream are played in step. */
const STREAM = "avatar";
/** How much sound waits to be sent at most: more is dropped, so that sound and picture stay together. */
const MAX_QUEUED_MS = 200;

export type Published = {
  /** Plays 16-bit PCM, mono. */
  play(pcm: Int16Array): void;
  /** How much sound waits to be sent. */
  queuedMs(): number;
  /** Drops it. */
  clear(): void;
  /** Sends no picture and no sound until `resume`. */
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  close(): Promise<void>;
};

/** The pictures of a call, and whether they have viewers. Without viewers, no picture is drawn. */
export type Shown = { rendering: Rendering; isWatched: () => boolean };

/** Publishes pictures, unless `shown` is null, and a track of sound. */
export const publishAvatar = async (room: Room, shown: Shown | null): Promise<Published> => {
  const { localParticipant } = room;
  if (!localParticipant) throw new Error("the room was left");
  const sound = new AudioSource(SAMPLE_RATE, 1, 2 * MAX_QUEUED_MS);
  const picture = shown && new VideoSource(PICTURE_SIZE, PICTURE_SIZE);
  let isPaused = false;
  let hasShown = false;
  const show = (): void => {
    if (!picture || isPaused || picture.closed) return;
    // The library sends black pictures until the first one. So the first one is drawn without viewers, too.
    if (hasShown && !shown.isWatched()) return;
    hasShown = true;
    picture.captureFrame(shown.rendering.picture());
  };
  show();
  const stopShowing = picture && startSteadyInterval(1000 / PICTURES_PER_SECOND, show);
  const audio = LocalAudioTrack.createAudioTrack("avatar-audio", sound);
  const video = picture && LocalVideoTrack.createVideoTrack("avatar-video", picture);
  const publish = async (track: LocalTrack, options: TrackPublishOptions): Promise<void> => {
    await withTimeout(PUBLISH_MS, localParticipant.publishTrack(track, options));
  };
  const close = async (): Promise<void> => {
    stopShowing?.();
    // Each closes its source, too.
    await Promise.all([audio.close(), video?.close()]);
  };
  try {
    // First, because an agent speaks as soon as it sees a picture: its first word would be heard by nobody.
    const options = new TrackPublishOptions({ source: TrackSource.SOURCE_MICROPHONE, stream: STREAM });
    await publish(audio, options);
    if (video) {
      const videoEncoding = { maxBitrate: MAX_BITRATE, maxFramerate: PICTURES_PER_SECOND };
      const options = { source: TrackSource.SOURCE_CAMERA, stream: STREAM, simulcast: false, videoEncoding };
      await publish(video, new TrackPublishOptions(options));
    }
  } catch {
    await close();
    // The message of the library can contain a token.
    throw new Error("the avatar cannot be published");
  }
  const play = (pcm: Int16Array): void => {
    if (isPaused || sound.closed || sound.queuedDuration > MAX_QUEUED_MS) return;
    void sound.captureFrame(new AudioFrame(pcm, SAMPLE_RATE, 1, pcm.length)).catch(() => {});
  };
  const clear = (): void => {
    if (!sound.closed) sound.clearQueue();
  };
  const pause = (): void => {
    isPaused = true;
    clear();
  };
  const resume = (): void => {
    isPaused = false;
  };
  return { play, queuedMs: () => sound.queuedDuration, clear, pause, resume, isPaused: () => isPaused, close };
};
