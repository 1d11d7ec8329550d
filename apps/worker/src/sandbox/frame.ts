/**
 * Decodes one frame of a video with ffmpeg, in a child process that is confined like every other. ffmpeg gets an open
 * file, and only the demuxer and the decoder of the inspected container. It writes a PNG.
 */
import { chmod } from "node:fs/promises";
import { tmpdir } from "node:os";
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import { FRAMES_PER_SECOND } from "@realtime-avatar/face/loop/loop-file";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";
import { type ConfinedOptions, type Failed, runConfined, SANDBOX_LIMITS, type SandboxLimits } from "./limited.ts";
import { MAX_FRAMES_BYTES, SEARCHED_SECONDS } from "./loop/film-limits.ts";
import { NOT_STARTED } from "./program.ts";
import { withOpenFiles } from "./run.ts";

const DEMUXERS: Record<ContentType<"video">, string> = {
  "video/mp4": "mov",
  "video/quicktime": "mov",
  "video/webm": "matroska",
};
/** The decoder of each codec that a video may have. */
const DECODERS: Record<string, string> = { avc: "h264", vp9: "vp9" };

/** The last frame before the next key frame, of a video of 1080p with 250 frames between them, takes 2 s of processor time. */
export const FRAME_LIMITS: SandboxLimits = { ...SANDBOX_LIMITS, wallMs: 20_000, cpuSeconds: 10 };

/** Codecs divide frames into blocks, so the coded size is a little larger than the limit. */
const MAX_PIXELS = Math.round(1.1 * ASSET_LIMITS.video.maxLongSide * ASSET_LIMITS.video.maxShortSide);

/** The path of a process's standard input as a file, in which ffmpeg can seek. */
const INPUT = "/proc/self/fd/0";

export type FrameSource = {
  path: string;
  contentType: ContentType<"video">;
  /** The codec, as the inspection names it. */
  codec: string;
  /** The position of the frame, in seconds from the start of the file's first track. */
  seconds: number;
  /**
   * Which frame to take: the first one at or after the position (`exact`), or the last key frame before it. A frame
   * that is shown for long may begin before the position, with no frame after it.
   */
  position?: "exact" | "key_frame";
  /**
   * The bits of each channel of the PNG, by default 8. Pixels of other colour spaces than sRGB need 16 until they are
   * converted.
   */
  bits?: 8 | 16;
};

/** The path of ffmpeg on this machine; null without one. */
export const findFfmpeg = (): string | null => Bun.which("ffmpeg");

/**
 * Makes the pixels square, as a player does: the longer side of a pixel counts, so that no pixel is lost. ffmpeg has
 * already turned the frame. If a file claims a larger frame than a video may have, the frame is scaled down.
 */
const squarePixels = (): string => {
  const [width, height] = ["iw*max(sar,1)", "ih/min(sar,1)"];
  const share = `min(1,${ASSET_LIMITS.video.maxLongSide}/max(${width},${height}))`;
  return `scale=w='max(1,${width}*${share})':h='max(1,${height}*${share})':${EXACT},setsar=1`;
};

/** Without these flags, a video of 10 bits is darker by 2 of 255. */
const EXACT = "flags=bicubic+accurate_rnd+full_chroma_int";
/** With 16 bits, the white of ffmpeg is 65280, which is 255 in the upper 8 bits. The white of a PNG is 65535. */
const FULL_WHITE = ["r", "g", "b"].map((channel) => `${channel}=val*257/256`).join(":");

/** The filters of a frame with this many bits in each channel. */
const filtersOf = (bits: 8 | 16): string =>
  bits === 8 ? squarePixels() : `${squarePixels()},format=rgb48,lutrgb=${FULL_WHITE}`;

/** The arguments that open the video at its position. */
const inputOf = ({ contentType, codec, seconds, position = "exact" }: FrameSource): string[] => {
  const decoder = DECODERS[codec] ?? "none";
  return [
    // A line for each damaged packet would exceed the output that the sandbox allows.
    ...["-nostdin", "-hide_banner", "-loglevel", "fatal"],
    // With these protocols, a file cannot refer to a file on the network.
    ...["-protocol_whitelist", "file,pipe", "-format_whitelist", DEMUXERS[contentType], "-codec_whitelist", decoder],
    ...["-f", DEMUXERS[contentType], "-threads", "1", "-max_pixels", String(MAX_PIXELS)],
    ...[position === "exact" ? "-accurate_seek" : "-noaccurate_seek", "-ss", seconds.toFixed(3)],
    // The first video track that is not a cover picture.
    ...["-i", INPUT, "-map", "0:V:0"],
  ];
};

const frameArguments = (source: FrameSource): string[] => {
  const { bits = 8 } = source;
  return [
    ...inputOf(source),
    ...["-frames:v", "1", "-vf", filtersOf(bits)],
    ...["-c:v", "png", "-pix_fmt", bits === 8 ? "rgb24" : "rgb48be", "-threads", "1", "-f", "image2pipe", "pipe:1"],
  ];
};

export type FrameOutcome = { kind: "written" } | { kind: "not_decodable" } | Failed;

/** The messages of ffmpeg when it gets no thread or no memory, and of the programs before it when they fail. */
const SHORTAGE = /Resource temporarily unavailable|Cannot allocate memory|^(?:prlimit|unshare): /m;

/** Whether ffmpeg has ended by itself because of its input. */
export const isRefusalOfFfmpeg = ({ code, exitCode, stderr }: Failed): boolean =>
  code === "crashed" && exitCode !== null && exitCode !== NOT_STARTED && !SHORTAGE.test(stderr);

type FrameOptions = ConfinedOptions & { folder?: string };

/** Runs ffmpeg with the arguments, and writes its output to a new file. */
const writeOutput = async (
  ffmpeg: string,
  source: FrameSource,
  output: string,
  ffmpegArguments: readonly string[],
  options: FrameOptions,
): Promise<FrameOutcome> => {
  // ffmpeg opens the descriptor as a path, and as another user when the worker is root. Other users cannot enter the
  // file's folder.
  await chmod(source.path, 0o444);
  const files = { input: source.path, outputs: [output] };
  return withOpenFiles<FrameOutcome>(files, options.folder ?? tmpdir(), async ({ input, others, folder }) => {
    const [file = "pipe" as const] = others;
    const descriptors = { input, output: file, others: [], folder };
    const program = { paths: [ffmpeg], listed: [], isForeign: true };
    const limited = { limits: FRAME_LIMITS, ...options, program };
    const ended = await runConfined([ffmpeg, ...ffmpegArguments], descriptors, limited);
    if (ended.kind === "succeeded") return { result: { kind: "written" }, isKept: true };
    return { result: isRefusalOfFfmpeg(ended) ? { kind: "not_decodable" } : ended, isKept: false };
  });
};

/**
 * Writes a frame to `output`, which must not exist. The file exists only after `written`, and is empty when the video
 * has no frame there. `not_decodable`: ffmpeg cannot decode the frame.
 */
export const writeFrame = (
  ffmpeg: string,
  source: FrameSource,
  output: string,
  options: FrameOptions = {},
): Promise<FrameOutcome> => writeOutput(ffmpeg, source, output, frameArguments(source), options);

/** Decoding 15 s of 1080p with 60 frames a second takes 8 s of processor time. */
export const FILM_LIMITS: SandboxLimits = {
  ...SANDBOX_LIMITS,
  wallMs: 60_000,
  cpuSeconds: 20,
  fileBytes: MAX_FRAMES_BYTES,
};

/** A part of each frame, in shares of its width and height. */
export type FramePart = { left: number; top: number; width: number; height: number };

/** 25 frames a second of a part of the picture, 512 pixels wide and high, as JPEGs of nearly no visible loss. */
const filmArguments = (source: FrameSource, { left, top, width, height }: FramePart): string[] => {
  const crop = `crop=w=iw*${width}:h=ih*${height}:x=iw*${left}:y=ih*${top}`;
  const side = `${PICTURE_SIZE}`;
  const filters = `fps=${FRAMES_PER_SECOND},${squarePixels()},${crop},scale=${side}:${side}:${EXACT},format=rgb24`;
  return [
    ...inputOf(source),
    ...["-t", String(SEARCHED_SECONDS), "-vf", filters],
    ...["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "3", "-threads", "1", "-f", "image2pipe", "pipe:1"],
  ];
};

/** Writes the frames of the first seconds after the position: see `splitJpegs`. Otherwise like `writeFrame`. */
export const writeFrames = (
  ffmpeg: string,
  { part, ...source }: FrameSource & { part: FramePart },
  output: string,
  options: FrameOptions = {},
): Promise<FrameOutcome> =>
  writeOutput(ffmpeg, source, output, filmArguments(source, part), { limits: FILM_LIMITS, ...options });
