/** The tracks of the avatar. */
import {
  AudioFrame,
  AudioSource,
  LocalAudioTrack,
  type LocalTrack,
  LocalVideoTrack,
  type Room,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
  VideoSource,
} from "@livekit/rtc-node";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";
import type { Recorder } from "../recording/recorder.ts";
import { PICTURES_PER_SECOND, type Rendering, SAMPLE_RATE } from "../renderer/renderer.ts";
import { startSteadyInterval } from "../steady-interval.ts";
import { withTimeout } from "./join.ts";

const PUBLISH_MS = 10_000;
/**
 * Enough for a picture of this size: a speaking face, encoded in real time, has a PSNR of 47 dB. At 1.5 times the
 * bitrate, it has 49 dB. Without a maximum, the first seconds are sent at a quarter of the size.
 */
const MAX_BITRATE = 1_000_000n;
/** Browsers play sound and picture in step if LiveKit forwards them in one media stream (`sync_streams` of the room). */
const STREAM = "avatar";
/** Maximum of waiting sound. More is dropped, so that sound and picture stay in step. */
const MAX_QUEUED_MS = 200;

export type Published = {
  /** Plays 16-bit PCM, mono. */
  play(pcm: Int16Array): void;
  /** Length of the sound that waits to be sent. */
  queuedMs(): number;
  /** Drops the waiting sound. */
  clear(): void;
  /** Stops sending pictures and sound until `resume`. */
  pause(): void;
  resume(): void;
  isPaused(): boolean;
  close(): Promise<void>;
};

/** The pictures of a call, and whether they have viewers. Pictures are drawn only for viewers and recordings. */
export type Shown = { rendering: Rendering; isWatched: () => boolean };

/**
 * Pictures that follow the sound, because their avatar is still being opened. `onFailure`: called when the avatar
 * cannot be opened.
 */
export type Later = { shown: Promise<Shown>; onFailure: (error: unknown) => void };

/**
 * Starts to draw pictures. The library sends black pictures until the first one, so the first one is drawn even without
 * viewers.
 */
const openPictures = (
  { rendering, isWatched }: Shown,
  { isPaused, isReceived, recorder }: { isPaused: () => boolean; isReceived: () => boolean; recorder: Recorder | null },
) => {
  const source = new VideoSource(PICTURE_SIZE, PICTURE_SIZE);
  let hasShown = false;
  const show = (): void => {
    if (isPaused() || source.closed) return;
    const isSeen = isWatched();
    if (hasShown && !isSeen && !recorder?.isRecording()) return;
    hasShown = true;
    const picture = rendering.picture();
    source.captureFrame(picture);
    // The picture has the mark REC.
    if (isSeen && isReceived()) recorder?.begin();
    recorder?.show(picture.data);
  };
  show();
  const stopShowing = startSteadyInterval(1000 / PICTURES_PER_SECOND, show);
  const track = LocalVideoTrack.createVideoTrack("avatar-video", source);
  const close = async (): Promise<void> => {
    stopShowing();
    // The track also closes its source.
    await track.close();
  };
  return { track, close };
};

const publishTrack = async (
  room: Room,
  track: LocalTrack,
  options: ConstructorParameters<typeof TrackPublishOptions>[0],
) => {
  const { localParticipant } = room;
  if (!localParticipant) throw new Error("the room was left");
  await withTimeout(
    PUBLISH_MS,
    localParticipant.publishTrack(track, new TrackPublishOptions({ ...options, stream: STREAM })),
  );
};
/** `onReceived`: a participant receives the pictures. A page can choose not to. */
const publishPictures = async (room: Room, track: LocalTrack, onReceived: () => void): Promise<void> => {
  const videoEncoding = { maxBitrate: MAX_BITRATE, maxFramerate: PICTURES_PER_SECOND };
  await publishTrack(room, track, { source: TrackSource.SOURCE_CAMERA, simulcast: false, videoEncoding });
  const publications = [...(room.localParticipant?.trackPublications.values() ?? [])];
  const pictures = publications.find(({ kind }) => kind === TrackKind.KIND_VIDEO);
  void pictures?.waitForSubscription().then(onReceived);
};

type PublishOptions = {
  /** Resolves when the sound is published. The pictures are published after it. */
  later?: Later;
  recorder?: Recorder | null;
};

/** Publishes pictures, unless `shown` is null, and a track of sound. */
export const publishAvatar = async (
  room: Room,
  shown: Shown | null,
  { later, recorder = null }: PublishOptions = {},
): Promise<Published> => {
  if (!room.localParticipant) throw new Error("the room was left");
  const sound = new AudioSource(SAMPLE_RATE, 1, 2 * MAX_QUEUED_MS);
  let isPaused = false;
  let isClosed = false;
  let isReceived = false;
  const onReceived = (): void => {
    isReceived = true;
  };
  const options = { isPaused: () => isPaused, isReceived: () => isReceived, recorder };
  let pictures = shown && openPictures(shown, options);
  const audio = LocalAudioTrack.createAudioTrack("avatar-audio", sound);
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all([audio.close(), pictures?.close()]);
  };
  try {
    // The sound is published first. An agent speaks as soon as it sees a picture, and its first word must be heard.
    await publishTrack(room, audio, { source: TrackSource.SOURCE_MICROPHONE });
    if (pictures) await publishPictures(room, pictures.track, onReceived);
  } catch {
    await close();
    // The message of the library can contain a token.
    throw new Error("the avatar cannot be published");
  }
  const showLater = async ({ shown }: Later): Promise<void> => {
    const opened = await shown;
    if (isClosed) return;
    pictures = openPictures(opened, options);
    await publishPictures(room, pictures.track, onReceived).catch(() => {
      throw new Error("the avatar cannot be published");
    });
  };
  if (later) showLater(later).catch((error: unknown) => isClosed || later.onFailure(error));
  const play = (pcm: Int16Array): void => {
    if (isPaused || sound.closed || sound.queuedDuration > MAX_QUEUED_MS) return;
    recorder?.play(pcm, sound.queuedDuration);
    void sound.captureFrame(new AudioFrame(pcm, SAMPLE_RATE, 1, pcm.length)).catch(() => {});
  };
  const clear = (): void => {
    if (sound.closed) return;
    sound.clearQueue();
    recorder?.clear();
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
