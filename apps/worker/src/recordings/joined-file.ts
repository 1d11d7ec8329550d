/**
 * A file of a recording, to which the fragments of a call are added in their order. Its sound gives the time: fragments follow one
 * another without a break or with a marked gap, overlaps are cut, and pictures lie beside the sound that was heard with them.
 */
import { MAX_CALL_SECONDS } from "@realtime-avatar/domain/calls/limits";
import {
  FRAGMENT_FRAME_SAMPLES,
  FRAGMENT_SAMPLE_RATE,
  type Fragment,
  type FragmentPictures,
  type SoundRole,
} from "@realtime-avatar/domain/recordings/fragment";
import { AAC_FORMAT } from "@realtime-avatar/video/aac/encoder";
import { PICTURES_PER_SECOND } from "@realtime-avatar/video/h264/encoder";
import { videoFormat, withLength } from "@realtime-avatar/video/h264/sample";
import type { VideoFormat } from "@realtime-avatar/video/mp4/boxes";
import { createMp4 } from "@realtime-avatar/video/mp4/file";
import { type Gap, MIN_GAP_MS } from "./gap.ts";

export type JoinedFileOptions = {
  /** Whose sound the file has. */
  role: SoundRole;
  hasPictures: boolean;
  gap: Gap;
  /** Writes bytes at a position of the file. */
  write: (bytes: Uint8Array, position: number) => void;
};

/** Times of the media are milliseconds since 1970. */
export type JoinedMedia = { sizeBytes: number; durationMs: number; mediaStartedAt: number; mediaEndedAt: number };

export type JoinedFile = {
  /** Adds a fragment in steps. The caller stores the bytes of each step before the next one. */
  add: (fragment: Fragment) => Iterable<void>;
  /** Ends the file; null when no fragment had sound or pictures for it. */
  finish: () => JoinedMedia | null;
};

const FRAME_MS = (1000 * FRAGMENT_FRAME_SAMPLES) / FRAGMENT_SAMPLE_RATE;
const PICTURE_MS = 1000 / PICTURES_PER_SECOND;
/** A file ends here, so that wrong times of a worker do not make it endless. */
const MAX_FILE_MS = 1000 * MAX_CALL_SECONDS;

/**
 * The longest overlap that is cut. Two workers record at once for a moment when one takes a call over. A longer overlap comes
 * from clocks that differ, and nothing is cut.
 */
const MAX_OVERLAP_MS = 2000;

/** The frames of a gap in a step: a minute. */
const STEP_FRAMES = Math.ceil(60_000 / FRAME_MS);

/** A picture as the file has it. `at`: milliseconds of the file. */
type Picture = { sample: Uint8Array; at: number; isKey: boolean };

/** The pictures of a fragment, at their times since 1970, and their description. */
type Encoded = { format: VideoFormat; pictures: Picture[] };

/**
 * A key picture with its parameter sets, which may differ from those of the file: another release can have encoded it.
 */
const keySample = ({ sequence, picture }: VideoFormat, unit: Uint8Array): Uint8Array =>
  Buffer.concat([sequence, picture, unit].map(withLength));

/** Null for parameter sets that our encoder does not write: no player could show the pictures. */
const formatOf = (sequence: Uint8Array, picture: Uint8Array): VideoFormat | null => {
  try {
    return videoFormat(sequence, picture, PICTURES_PER_SECOND);
  } catch {
    return null;
  }
};

const encodedPictures = (track: FragmentPictures | null): Encoded | null => {
  const format = track && formatOf(Buffer.from(track.sequence, "base64"), Buffer.from(track.picture, "base64"));
  if (track === null || format === null) return null;
  const keys = new Set(track.keys);
  const pictures = track.samples.map((unit, index) => ({
    sample: keys.has(index) ? keySample(format, unit) : withLength(unit),
    at: track.started_at + (track.times[index] ?? 0),
    isKey: keys.has(index),
  }));
  return { format, pictures };
};

type Mp4 = ReturnType<typeof createMp4>;

/** The pictures of a file. Each is shown until the next one. */
const createPictures = (file: Mp4, gap: Gap) => {
  const stillFormat = videoFormat(gap.still.sequence, gap.still.picture, PICTURES_PER_SECOND);
  const still = keySample(stillFormat, gap.still.units[0] ?? new Uint8Array(0));
  let shown: Picture | null = null;
  let format: VideoFormat | null = null;
  /** The end of the pictures so far. */
  let end = 0;
  const show = (picture: Picture): void => {
    // Pictures of two workers can overlap. All are kept, because later ones need them.
    const at = shown === null ? 0 : Math.max(shown.at + 1, Math.round(picture.at));
    if (shown !== null) file.addPicture(shown.sample, at - shown.at, shown.isKey);
    shown = { ...picture, at };
  };
  const fill = (until: number): void => {
    if (until - end > MIN_GAP_MS) show({ sample: still, at: end, isKey: true });
  };
  return {
    /** Begins the pictures of a fragment. */
    begin: (encoded: Encoded, at: number): void => {
      format ??= encoded.format;
      fill(at);
    },
    show,
    /** Ends the pictures of a fragment. */
    end: (at: number): void => {
      end = Math.max(at, (shown?.at ?? 0) + PICTURE_MS);
    },
    /** Ends the pictures of the file. */
    finish: (durationMs: number): VideoFormat | null => {
      if (shown === null) return null;
      fill(durationMs);
      file.addPicture(shown.sample, Math.max(1, Math.round(durationMs) - shown.at), shown.isKey);
      return format;
    },
  };
};

/** The sound of a fragment. Beside pictures without sound there is silence. */
const soundOf = ({ sounds, pictures }: Fragment, { role, hasPictures, gap }: JoinedFileOptions) => {
  const sound = sounds.find((track) => track.role === role);
  if (sound !== undefined || pictures === null || !hasPictures) return sound ?? null;
  const frames = Math.ceil(((pictures.times.at(-1) ?? 0) + PICTURE_MS) / FRAME_MS);
  return { started_at: pictures.started_at, samples: new Array<Uint8Array>(frames).fill(gap.silence) };
};

export const createJoinedFile = (options: JoinedFileOptions): JoinedFile => {
  const { hasPictures, gap, write } = options;
  const file = createMp4({ sound: AAC_FORMAT, pictureTimescale: 1000, write });
  const pictures = createPictures(file, gap);
  let frames = 0;
  let media: { startedAt: number; endedAt: number; lastEnd: number } | null = null;

  const addFrame = (frame: Uint8Array): void => {
    file.addFrame(frame);
    frames++;
  };
  const addGap = function* (gapMs: number): Iterable<void> {
    const ms = Math.min(gapMs, MAX_FILE_MS - frames * FRAME_MS);
    if (ms <= MIN_GAP_MS) return;
    for (const frame of gap.sound(Math.round(ms / FRAME_MS))) {
      addFrame(frame);
      if (frames % STEP_FRAMES === 0) yield;
    }
  };
  return {
    add: function* (fragment) {
      const sound = soundOf(fragment, options);
      if (sound === null || frames * FRAME_MS >= MAX_FILE_MS) return;
      const startedAt = sound.started_at;
      const endedAt = Math.round(startedAt + sound.samples.length * FRAME_MS);
      const overlapMs = media === null ? 0 : media.lastEnd - startedAt;
      const cut = overlapMs > 0 && overlapMs <= MAX_OVERLAP_MS ? Math.round(overlapMs / FRAME_MS) : 0;
      if (cut >= sound.samples.length) return;
      if (media !== null) yield* addGap(-overlapMs);
      media = {
        startedAt: media?.startedAt ?? startedAt,
        endedAt: Math.max(media?.endedAt ?? 0, endedAt),
        lastEnd: endedAt,
      };
      const offset = (frames - cut) * FRAME_MS - startedAt;
      const encoded = hasPictures ? encodedPictures(fragment.pictures) : null;
      const waiting = (encoded?.pictures ?? []).map((picture) => ({ ...picture, at: picture.at + offset }));
      if (encoded !== null) pictures.begin(encoded, waiting[0]?.at ?? 0);
      for (const frame of sound.samples.slice(cut)) {
        // A picture is written before the sound that is heard with it.
        while ((waiting[0]?.at ?? Number.POSITIVE_INFINITY) <= frames * FRAME_MS)
          pictures.show(waiting.shift() as Picture);
        addFrame(frame);
      }
      for (const picture of waiting) pictures.show(picture);
      if (encoded !== null) pictures.end(frames * FRAME_MS);
      yield;
    },
    finish: () => {
      if (media === null) return null;
      // A decoder returns the sound of a frame when it gets the next one, so the last frame adds no sound.
      const durationMs = (frames - 1) * FRAME_MS;
      const sizeBytes = file.finish(pictures.finish(durationMs));
      return {
        sizeBytes,
        durationMs: Math.round(durationMs),
        mediaStartedAt: media.startedAt,
        mediaEndedAt: media.endedAt,
      };
    },
  };
};
