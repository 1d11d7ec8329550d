/**
 * Decodes audio with ffmpeg, in a child process that is confined like every other. ffmpeg gets an open file, and only
 * the demuxers and decoders of its content type. It writes 16-bit PCM, mono, 48 kHz.
 */
import { chmod, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import type { ContentType } from "@realtime-avatar/domain/assets/limits";
import { isRefusalOfFfmpeg } from "../frame.ts";
import { type ConfinedOptions, type Failed, runConfined, SANDBOX_LIMITS, type SandboxLimits } from "../limited.ts";
import { withOpenFiles } from "../run.ts";
import { MAX_SOUND_SAMPLES, MAX_SOUND_SECONDS, SAMPLE_RATE } from "./tasks.ts";

/** The content types that ffmpeg decodes: all except WAV. */
export type FfmpegType = Exclude<ContentType<"audio">, "audio/wav">;

/** The demuxer and the decoders of each content type. */
const FORMATS: Record<FfmpegType, { demuxer: string; decoders: string }> = {
  "audio/mpeg": { demuxer: "mp3", decoders: "mp3,mp3float" },
  "audio/mp4": { demuxer: "mov", decoders: "aac,alac,mp3,mp3float,flac,opus" },
  "audio/aac": { demuxer: "aac", decoders: "aac" },
  "audio/ogg": { demuxer: "ogg", decoders: "vorbis,opus,flac" },
  "audio/flac": { demuxer: "flac", decoders: "flac" },
};

/** One second more than a sound may have, so that a sound that is too long is recognized. */
const DECODED_SECONDS = MAX_SOUND_SECONDS + 1;

/** Ten minutes of AAC take 2 s. */
export const DECODE_LIMITS: SandboxLimits = {
  ...SANDBOX_LIMITS,
  wallMs: 60_000,
  cpuSeconds: 30,
  fileBytes: 2 * MAX_SOUND_SAMPLES + 2 * SAMPLE_RATE * 2,
};

/** The path of a process's standard input as a file, in which ffmpeg can seek. */
const INPUT = "/proc/self/fd/0";

const argumentsFor = (contentType: FfmpegType): string[] => {
  const { demuxer, decoders } = FORMATS[contentType];
  return [
    ...["-nostdin", "-hide_banner", "-loglevel", "fatal"],
    // With these protocols, a file cannot refer to a file on the network.
    ...["-protocol_whitelist", "file,pipe", "-format_whitelist", demuxer, "-codec_whitelist", decoders],
    ...["-f", demuxer, "-threads", "1", "-i", INPUT, "-map", "0:a:0", "-vn", "-sn", "-dn"],
    ...["-t", String(DECODED_SECONDS), "-ac", "1", "-ar", String(SAMPLE_RATE)],
    ...["-c:a", "pcm_s16le", "-threads", "1", "-bitexact", "-f", "s16le", "pipe:1"],
  ];
};

export type DecodedAudio = { kind: "decoded" } | { kind: "malformed" } | Failed;

/**
 * Decodes the audio file at `path` to `output`, which must not exist. The file exists only after `decoded`, and is not
 * empty.
 */
export const decodeAudio = async (
  ffmpeg: string,
  { path, contentType }: { path: string; contentType: FfmpegType },
  output: string,
  options: Pick<ConfinedOptions, "signal" | "limits" | "confinement" | "onEnd"> & { folder?: string } = {},
): Promise<DecodedAudio> => {
  // ffmpeg opens the descriptor as a path, and as another user when the worker is root. Other users cannot enter the
  // file's folder.
  await chmod(path, 0o444);
  const { folder: parent = tmpdir(), ...confined } = options;
  return withOpenFiles<DecodedAudio>({ input: path, outputs: [output] }, parent, async ({ input, others, folder }) => {
    const [file = "pipe" as const] = others;
    const program = { paths: [ffmpeg], listed: [], isForeign: true };
    const limited = { limits: DECODE_LIMITS, ...confined, program };
    const descriptors = { input, output: file, others: [], folder };
    const ended = await runConfined([ffmpeg, ...argumentsFor(contentType)], descriptors, limited);
    const isEmpty = (await stat(output)).size === 0;
    if (ended.kind === "succeeded") return { result: { kind: isEmpty ? "malformed" : "decoded" }, isKept: !isEmpty };
    return { result: isRefusalOfFfmpeg(ended) ? { kind: "malformed" } : ended, isKept: false };
  });
};
