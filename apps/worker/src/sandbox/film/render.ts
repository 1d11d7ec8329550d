/** Draws the pictures of a video and writes them with its sound. Runs in a child process. */
import { readMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import { createMarks } from "@realtime-avatar/face/marks";
import { decodePhoto, enlargePhoto, type Photo } from "@realtime-avatar/face/photo";
import { PICTURE_LENGTH, PICTURE_SIZE, toI420 } from "@realtime-avatar/face/picture";
import { createPortrait, PORTRAIT_SCALES } from "@realtime-avatar/face/portrait";
import { readNetwork } from "@realtime-avatar/face/sound/network";
import { createSpeaker } from "@realtime-avatar/face/speaker";
import { openFace } from "@realtime-avatar/face/warp/face";
import { openFilm, PICTURE_SAMPLES } from "@realtime-avatar/video/film";
import { loadVideoEncoder } from "@realtime-avatar/video/h264/encoder";
import type Sharp from "sharp";
import { type FilmTask, SAMPLE_RATE, type VideoReport } from "./tasks.ts";
import type { Read } from "./wav.ts";

const PICTURE_MS = 40;
/** Samples of a piece of 20 ms. */
const PIECE = SAMPLE_RATE / 50;
/** With at least this lead, lips are exact and smooth: see `Speaker`. */
const LEAD_MS = 240;
/** Pictures of rest before the sound and after it: 320 and 400 ms. The mouth opens ahead of its sound, and closes after it. */
const PICTURES_BEFORE = 8;
const PICTURES_AFTER = 10;
const SAMPLES_BEFORE = PICTURES_BEFORE * PICTURE_SAMPLES;
const PROGRESS_MS = 1000;

/** Loads the files that a film needs. */
export const loadRenderer = async (): Promise<void> => {
  readNetwork();
  await loadVideoEncoder();
};

/** The number of pictures in the video of a sound. */
export const countPictures = (samples: number): number =>
  PICTURES_BEFORE + Math.ceil(samples / PICTURE_SAMPLES) + PICTURES_AFTER;

/** The moving picture of a voice: a face, or a portrait. */
type Actor = {
  hear: (pcm: Int16Array, delayMs: number, nowMs: number) => void;
  /** The picture for a time. It is valid until the next call. */
  picture: (nowMs: number) => Uint8Array;
};

type DrawMarks = (picture: Uint8Array) => void;

/** The face of a photo; null when the mesh does not fit the photo. */
const openSpeakingFace = (photo: Photo, { mesh, seed }: FilmTask, drawMarks: DrawMarks): Actor | null => {
  const points = mesh === null ? null : readMesh({ face: mesh }, photo.originalSize, PICTURE_SIZE);
  if (points === null) return null;
  try {
    const speaker = createSpeaker(openFace(toI420(photo.pixels), points), { seed });
    // One buffer for all pictures: new ones would make 10 MB of garbage for each second of the film.
    const picture = new Uint8Array(PICTURE_LENGTH);
    return {
      hear: speaker.hear,
      picture: (nowMs) => {
        drawMarks(speaker.picture(nowMs, picture));
        return picture;
      },
    };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

const openPortrait = async (sharp: typeof Sharp, photo: Photo, drawMarks: DrawMarks): Promise<Actor> => {
  const pictures: Uint8Array[] = [];
  for (const scale of PORTRAIT_SCALES) {
    const picture = toI420(await enlargePhoto(sharp, photo.pixels, scale));
    drawMarks(picture);
    pictures.push(picture);
  }
  return createPortrait(pictures);
};

/** The sound from `first` to `last` in the time of the film, in samples, with silence before and after the sound. */
const createSoundReader =
  (read: Read, samples: number) =>
  (first: number, last: number): Int16Array => {
    const pcm = new Int16Array(last - first);
    const [from, to] = [Math.max(first, SAMPLES_BEFORE), Math.min(last, SAMPLES_BEFORE + samples)];
    if (from >= to) return pcm;
    const bytes = read(2 * (from - SAMPLES_BEFORE), 2 * (to - SAMPLES_BEFORE));
    if (bytes.length !== 2 * (to - from)) throw new Error("The sound is shorter than it was.");
    pcm.set(new Int16Array(new Uint8Array(bytes).buffer), from - first);
    return pcm;
  };

export type FilmFiles = {
  picture: Uint8Array;
  /** Reads the sound. */
  sound: Read;
  write: (bytes: Uint8Array, position: number) => void;
  /** Gets the finished share, at most every second. */
  onProgress: (share: number) => void;
};

/** Calls `onProgress` at most every `PROGRESS_MS`. */
const createProgress = (total: number, onProgress: FilmFiles["onProgress"]): ((done: number) => void) => {
  let last = performance.now();
  return (done) => {
    const now = performance.now();
    if (now < last + PROGRESS_MS) return;
    last = now;
    onProgress(done / total);
  };
};

/** Renders a film. */
export const renderFilm = async (
  sharp: typeof Sharp,
  files: FilmFiles,
  task: FilmTask,
): Promise<VideoReport<"film">> => {
  const { label, isTest, samples } = task;
  const drawMarks = createMarks({ label, isTest });
  const photo = await decodePhoto(sharp, files.picture).catch(() => null);
  if (photo === null) return { kind: "refused", code: "avatar_unavailable" };
  const face = openSpeakingFace(photo, task, drawMarks);
  const actor = face ?? (await openPortrait(sharp, photo, drawMarks));
  const readSound = createSoundReader(files.sound, samples);
  const pictures = countPictures(samples);
  const film = await openFilm({ pictures, write: files.write });
  const tell = createProgress(pictures, files.onProgress);
  let heard = 0;
  for (let index = 0; index < pictures; index++) {
    const nowMs = index * PICTURE_MS;
    for (; heard < SAMPLES_BEFORE + samples && (1000 * heard) / SAMPLE_RATE < nowMs + LEAD_MS; heard += PIECE) {
      actor.hear(readSound(heard, heard + PIECE), (1000 * heard) / SAMPLE_RATE - nowMs, nowMs);
    }
    const first = index * PICTURE_SAMPLES;
    await film.add(actor.picture(nowMs), readSound(first, first + PICTURE_SAMPLES));
    tell(index + 1);
  }
  film.finish();
  return { kind: "accepted", pictures, isPortrait: task.mesh !== null && face === null };
};
