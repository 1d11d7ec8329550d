/**
 * Renders a video: the picture of a prepared avatar says a text or the sound of a file. All code that opens bytes from
 * outside runs in the sandbox: a child converts the sound to 16-bit PCM, and a second child draws the pictures and
 * writes the MP4.
 */
import { open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import type { Magic } from "@realtime-avatar/domain/assets/magic";
import { DEFAULT_MARK } from "@realtime-avatar/domain/calls/mark";
import { seedFrom } from "@realtime-avatar/face/seed";
import type { Logger } from "@realtime-avatar/runtime/log";
import { SpeechError } from "@realtime-avatar/speech/errors";
import type { SpeechTimeouts } from "@realtime-avatar/speech/provider";
import type { SpeechSettings } from "@realtime-avatar/speech/settings";
import { speak } from "@realtime-avatar/speech/speak";
import type { Voice } from "@realtime-avatar/speech/voices";
import { decodeAudio, type FfmpegType } from "../sandbox/film/decode-audio.ts";
import { runVideoTask, type VideoTaskOptions } from "../sandbox/film/run.ts";
import {
  type FaceMesh,
  type FilmTask,
  MAX_SOUND_SAMPLES,
  SAMPLE_RATE,
  type SoundSource,
} from "../sandbox/film/tasks.ts";
import { findFfmpeg } from "../sandbox/frame.ts";
import { type Failed, isTransient, MAX_STDERR_CHARACTERS } from "../sandbox/limited.ts";

/** The errors of a video that the rendering can return. */
export type RenderErrorCode =
  | "audio_silent"
  | "audio_too_long"
  | "audio_malformed"
  | "audio_unsupported"
  | "voice_refused"
  | "voice_busy"
  | "voice_timeout"
  | "voice_malformed"
  | "avatar_unavailable"
  | "internal";

export type VideoSound =
  | { kind: "text"; text: string; voice: Voice }
  /**
   * `magic`: the type by the first bytes of the file. `maxSeconds`: the seconds for which credits are held, according
   * to the length that the file claims.
   */
  | { kind: "file"; path: string; magic: Magic; maxSeconds: number };

export type VideoInput = {
  /** The path of the normalized picture of a prepared avatar. */
  picture: string;
  /** The member `face` of its manifest; null: the picture grows with the loudness of the voice, as in calls. */
  mesh: FaceMesh | null;
  sound: VideoSound;
  /** Whether each picture has the mark `TEST`. */
  isTest: boolean;
  /** The id of the video. Equal ids, pictures and sounds give equal bytes. */
  seed: string;
  /** The job's folder. */
  folder: string;
};

export type VideoOutcome =
  /** `path`: the path of an MP4 file in the folder. */
  | { kind: "rendered"; path: string; durationMs: number; warnings: string[] }
  /** Another attempt would also fail. `detail`: the text for the caller. */
  | { kind: "failed"; code: RenderErrorCode; detail: string }
  /** Another attempt can succeed. `error`: the text for the operator. */
  | { kind: "retry"; code: RenderErrorCode; error: string };

export type RenderOptions = {
  log: Logger;
  /** The server of the voices that Flite does not have. */
  speech: Pick<SpeechSettings, "provider">;
  /** The time limits of that server. */
  timeouts?: SpeechTimeouts;
  /** The mark in each picture, because people must know that the person is artificial: see `createMarks`. */
  label?: string;
  /** The path of ffmpeg; null without ffmpeg. By default, that of this machine. */
  ffmpeg?: string | null;
  /** The command of a child, for a task. By default, this program. */
  command?: (task: string) => string[];
  /** Gets what each child has used. */
  onEnd?: VideoTaskOptions["onEnd"];
};

export type RenderControl = {
  /** Ends the children. */
  signal: AbortSignal;
  /** Gets the finished share, at most every second. */
  onProgress: (share: number) => void;
};

export type RenderVideo = (input: VideoInput, control: RenderControl) => Promise<VideoOutcome>;

const PICTURE_MS = 40;
const NO_FACE = "The avatar was prepared without a usable face: its picture moves with the loudness of the voice.";
const NO_PICTURE = "The prepared picture of the avatar is damaged. Prepare the avatar again.";
const NO_FFMPEG = "This installation cannot decode this type of audio, because it has no ffmpeg. Convert it to WAV.";
const LONGER_THAN_DECLARED = "The audio is longer than its file says. Export it anew as WAV.";
const NOT_DECODABLE = "The audio cannot be decoded. Convert it to WAV.";

/** The result of a step: a value, or the end of the rendering. */
type Step<Value> = { kind: "done"; value: Value } | Exclude<VideoOutcome, { kind: "rendered" }>;

type Rendering = { options: RenderOptions; input: VideoInput; child: VideoTaskOptions };

/** The end of a rendering whose child has failed. */
const endFailed = (
  { options: { log } }: Rendering,
  failed: Failed,
): Extract<VideoOutcome, { kind: "failed" | "retry" }> => {
  const { code, detail, stderr } = failed;
  if (code !== "canceled") {
    log.warn({ code, detail, stderr: stderr.slice(-MAX_STDERR_CHARACTERS) }, "the rendering of a video has failed");
  }
  return isTransient(failed)
    ? { kind: "retry", code: "internal", error: detail }
    : { kind: "failed", code: "internal", detail: "The video could not be rendered within the limits of the service." };
};

/** A file that the sound task can read, with its type. */
type Prepared = { path: string; source: SoundSource };

type SoundOf<Kind extends VideoSound["kind"]> = Extract<VideoSound, { kind: Kind }>;

/** Writes the speech of a server for a text: PCM, at most a little longer than a sound may be. */
const writeSpeech = async (path: string, speech: AsyncIterable<Int16Array>): Promise<void> => {
  const file = await open(path, "wx", 0o600);
  try {
    let samples = 0;
    for await (const pcm of speech) {
      await file.appendFile(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength));
      samples += pcm.length;
      if (samples > MAX_SOUND_SAMPLES) break;
    }
  } finally {
    await file.close();
  }
};

/**
 * Requests the speech for a text from a server. The sandbox has no network, so this process sends the request. The
 * response is read in the sandbox.
 */
const askProvider = async (
  { options, child, input }: Rendering,
  { text, voice }: SoundOf<"text">,
): Promise<Step<Prepared>> => {
  const { signal } = child;
  const path = join(input.folder, "spoken");
  const { speech, timeouts } = options;
  try {
    await writeSpeech(path, speak(text, voice, speech, { signal, ...(timeouts ? { timeouts } : {}) }));
    return { kind: "done", value: { path, source: { kind: "pcm" } } };
  } catch (error) {
    await rm(path, { force: true });
    if (signal?.aborted) return { kind: "retry", code: "internal", error: "The rendering was canceled." };
    if (!(error instanceof SpeechError)) throw error;
    const { code, message, isRepeatable } = error;
    return isRepeatable ? { kind: "retry", code, error: message } : { kind: "failed", code, detail: message };
  }
};

/**
 * A text for Flite, which runs in the sandbox. The text is passed as a file, because other users can read the arguments
 * of a process.
 */
const writeText = async ({ input }: Rendering, { text, voice }: SoundOf<"text">): Promise<Step<Prepared>> => {
  const path = join(input.folder, "text");
  await writeFile(path, text, { flag: "wx", mode: 0o600 });
  return { kind: "done", value: { path, source: { kind: "text", voice: voice.providerVoice } } };
};

/** Decodes a file with ffmpeg, unless it is a WAV file. */
const prepareFile = async (rendering: Rendering, { path, magic }: SoundOf<"file">): Promise<Step<Prepared>> => {
  const { ffmpeg = findFfmpeg() } = rendering.options;
  if (magic.contentType === "audio/wav") return { kind: "done", value: { path, source: { kind: "wav" } } };
  // Some files with only sound begin like a video.
  const contentType = magic.kind === "audio" ? (magic.contentType as ContentType<"audio">) : null;
  if (contentType === null) return { kind: "failed", code: "audio_unsupported", detail: NOT_DECODABLE };
  if (ffmpeg === null) return { kind: "failed", code: "audio_unsupported", detail: NO_FFMPEG };
  const output = join(rendering.input.folder, "decoded");
  const { command: _, onProgress: __, ...options } = rendering.child;
  const decoded = await decodeAudio(ffmpeg, { path, contentType: contentType as FfmpegType }, output, options);
  switch (decoded.kind) {
    case "decoded":
      return { kind: "done", value: { path: output, source: { kind: "pcm" } } };
    case "malformed":
      return { kind: "failed", code: "audio_malformed", detail: NOT_DECODABLE };
    case "failed":
      return endFailed(rendering, decoded);
  }
};

type Sound = { path: string; samples: number };

/** Decoders add silence at both ends, less than this. */
const PADDING_SECONDS = 1;

/** Whether a sound needs more credits than its video holds, because its file claims to be shorter. */
const exceedsHold = (sound: VideoSound, samples: number): boolean =>
  sound.kind === "file" && samples > (sound.maxSeconds + PADDING_SECONDS) * SAMPLE_RATE;

const prepareSound = (rendering: Rendering): Promise<Step<Prepared>> => {
  const { sound } = rendering.input;
  if (sound.kind === "file") return prepareFile(rendering, sound);
  return sound.voice.provider === "flite" ? writeText(rendering, sound) : askProvider(rendering, sound);
};

/** Makes the sound. */
const makeSound = async (rendering: Rendering): Promise<Step<Sound>> => {
  const { folder, sound } = rendering.input;
  const prepared = await prepareSound(rendering);
  if (prepared.kind !== "done") return prepared;
  const path = join(folder, "sound");
  const task = { kind: "sound", source: prepared.value.source } as const;
  const report = await runVideoTask(task, { input: prepared.value.path, outputs: [path] }, rendering.child);
  const isOriginal = sound.kind === "file" && prepared.value.path === sound.path;
  if (!isOriginal) await rm(prepared.value.path, { force: true });
  switch (report.kind) {
    case "accepted":
      if (exceedsHold(sound, report.samples)) {
        await rm(path, { force: true });
        return { kind: "failed", code: "audio_malformed", detail: LONGER_THAN_DECLARED };
      }
      return { kind: "done", value: { path, samples: report.samples } };
    case "refused":
      return { kind: "failed", code: report.code, detail: report.detail };
    case "failed":
      return endFailed(rendering, report);
  }
};

const writeFilm = async (
  rendering: Rendering,
  { path: sound, samples }: Sound,
  onProgress: RenderControl["onProgress"],
): Promise<VideoOutcome> => {
  const { options, input } = rendering;
  const { picture, mesh, isTest, seed, folder } = input;
  const { label = DEFAULT_MARK } = options;
  const path = join(folder, "video.mp4");
  const task: FilmTask = { kind: "film", samples, mesh, label, isTest, seed: seedFrom(seed) };
  const files = { input: picture, inputs: [sound], outputs: [path] };
  const report = await runVideoTask(task, files, { ...rendering.child, onProgress });
  if (report.kind === "failed") return endFailed(rendering, report);
  if (report.kind === "refused") return { kind: "failed", code: report.code, detail: NO_PICTURE };
  const warnings = report.isPortrait || mesh === null ? [NO_FACE] : [];
  return { kind: "rendered", path, durationMs: report.pictures * PICTURE_MS, warnings };
};

/**
 * Creates the rendering of videos. The rendering throws only for errors of the local disk. It leaves no files outside
 * of the folder of a job.
 */
export const createRenderVideo =
  (options: RenderOptions): RenderVideo =>
  async (input, { signal, onProgress }) => {
    const { command, onEnd } = options;
    const child = { signal, folder: input.folder, onEnd, ...(command ? { command } : {}) };
    const rendering = { options, input, child };
    const sound = await makeSound(rendering);
    if (sound.kind !== "done") return sound;
    const outcome = await writeFilm(rendering, sound.value, onProgress);
    await rm(sound.value.path, { force: true });
    return outcome;
  };
