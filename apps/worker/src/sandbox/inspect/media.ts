/** Inspects the containers of videos and of audio files. Nothing is decoded. Runs in a child process. */
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import {
  ADTS,
  EncodedPacketSink,
  FLAC,
  Input,
  type InputFormat,
  type InputTrack,
  MP3,
  MP4,
  OGG,
  QTFF,
  type Source,
  WAVE,
  WEBM,
} from "mediabunny";
import { type Refused, type Report, refused, type Task } from "../report.ts";

/** The reader of each type. A file is read by the reader of its own type only. */
const READERS: Record<ContentType<"video" | "audio">, InputFormat> = {
  "video/mp4": MP4,
  "video/quicktime": QTFF,
  "video/webm": WEBM,
  "audio/mp4": MP4,
  "audio/aac": ADTS,
  "audio/mpeg": MP3,
  "audio/wav": WAVE,
  "audio/ogg": OGG,
  "audio/flac": FLAC,
};

export const notReadable = refused("not_decodable", "The file cannot be read: it is damaged or incomplete.");

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** Whether sizes, counts and rates are those of a real file. The readers pass on what the file says. */
const areCounts = (...values: number[]): boolean =>
  values.every((value) => Number.isInteger(value) && value >= 1 && value <= 2 ** 31);

/** Whether the track has a packet. The duration of a track without one takes mediabunny for ever with some formats. */
const hasPackets = async (track: InputTrack): Promise<boolean> =>
  ((await new EncodedPacketSink(track).getFirstPacket())?.data.length ?? 0) > 0;

/** Whether the data of the last packet are in the file. An incomplete file has them in its table of packets only. */
const isComplete = async (track: InputTrack): Promise<boolean> =>
  ((await new EncodedPacketSink(track).getPacket(Number.POSITIVE_INFINITY))?.data.length ?? 0) > 0;

const durationRefusal = (seconds: number): Refused | null => {
  const { minSeconds, maxSeconds } = ASSET_LIMITS.video;
  const measured = `The video lasts ${rounded(seconds)} s`;
  if (seconds < minSeconds)
    return refused("too_short", `${measured}; the minimum is ${minSeconds} s.`, rounded(seconds));
  if (seconds <= maxSeconds) return null;
  return refused("too_long", `${measured}; the maximum is ${maxSeconds} s.`, rounded(seconds));
};

/** Codecs divide frames into blocks of 16 pixels, so the coded height of 1080p is 1088. */
const inBlocks = (pixels: number): number => 16 * Math.ceil(pixels / 16);

/** `round` is applied to the limits. */
const sizeRefusal = (width: number, height: number, round = (pixels: number) => pixels): Refused | null => {
  const { maxLongSide, maxShortSide } = ASSET_LIMITS.video;
  if (Math.max(width, height) <= round(maxLongSide) && Math.min(width, height) <= round(maxShortSide)) return null;
  const detail = `The video has ${width} x ${height} pixels; the maximum is ${maxLongSide} x ${maxShortSide}.`;
  return refused("resolution_too_high", detail);
};

const CODEC_NAMES = { avc: "H.264", vp9: "VP9" };

const readVideo = async (input: Input): Promise<Report<"video">> => {
  const track = await input.getPrimaryVideoTrack();
  if (!track) return refused("no_video_track", "The file has no video track.");
  const codec = await track.getCodec();
  const { codecs, maxFramesPerSecond } = ASSET_LIMITS.video;
  if (codec === null || !codecs.some((allowed) => allowed === codec)) {
    const allowed = codecs.map((name) => CODEC_NAMES[name]).join(" and ");
    // Often HEVC, which phones record by default.
    const detail = `The codec is ${codec ?? "unknown"}; allowed are ${allowed}. Convert the video to MP4 with H.264.`;
    return refused("codec_not_allowed", detail);
  }
  const [width, height] = [await track.getDisplayWidth(), await track.getDisplayHeight()];
  if (!areCounts(width, height)) return notReadable;
  // The displayed size can be smaller than the coded size, which a decoder allocates.
  const tooLarge =
    sizeRefusal(width, height) ?? sizeRefusal(await track.getCodedWidth(), await track.getCodedHeight(), inBlocks);
  if (tooLarge) return tooLarge;
  if (!(await hasPackets(track))) return notReadable;
  // The longest track counts.
  const seconds = await input.computeDuration();
  if (!Number.isFinite(seconds)) return notReadable;
  const wrongDuration = durationRefusal(seconds);
  if (wrongDuration) return wrongDuration;
  const { averagePacketRate } = await track.computePacketStats();
  if (!Number.isFinite(averagePacketRate)) return notReadable;
  // Timestamps are rounded: a video of 60 frames per second can measure 60.02.
  if (Math.round(averagePacketRate) > maxFramesPerSecond) {
    const measured = `The video has ${rounded(averagePacketRate)} frames per second`;
    const detail = `${measured}; the maximum is ${maxFramesPerSecond}.`;
    return refused("frame_rate_too_high", detail, rounded(averagePacketRate));
  }
  if (!(await isComplete(track))) return notReadable;
  return {
    kind: "accepted",
    width,
    height,
    seconds: rounded(seconds),
    framesPerSecond: rounded(averagePacketRate),
    codec,
  };
};

const readAudio = async (input: Input): Promise<Report<"audio">> => {
  const track = await input.getPrimaryAudioTrack();
  if (!track) return refused("no_audio_track", "The file has no audio track.");
  if (await input.getPrimaryVideoTrack()) {
    return refused("unexpected_video_track", "The file is an audio file and has a video track.");
  }
  const codec = await track.getCodec();
  if (codec === null) return refused("codec_not_allowed", "The codec of the audio track is unknown.");
  if (!(await hasPackets(track))) return refused("too_short", "The audio has no samples.");
  const seconds = await track.computeDuration();
  const { minSecondsExclusive } = ASSET_LIMITS.audio;
  if (!Number.isFinite(seconds)) return notReadable;
  if (seconds <= minSecondsExclusive) {
    return refused(
      "too_short",
      `The audio lasts ${rounded(seconds)} s; it must last longer than ${minSecondsExclusive} s.`,
    );
  }
  const [channels, sampleRate] = [await track.getNumberOfChannels(), await track.getSampleRate()];
  if (!areCounts(channels, sampleRate) || !(await isComplete(track))) return notReadable;
  return {
    kind: "accepted",
    seconds: rounded(seconds),
    channels,
    sampleRate,
    codec,
  };
};

/** The facts of a video or of an audio file. A refusal for each limit that it breaks, and for each error of the reader. */
export const inspectMedia = async (
  source: Source,
  { kind, contentType }: Task<"video"> | Task<"audio">,
): Promise<Report<"video"> | Report<"audio">> => {
  const input = new Input({ formats: [READERS[contentType]], source });
  try {
    return kind === "video" ? await readVideo(input) : await readAudio(input);
  } catch {
    return notReadable;
  } finally {
    input.dispose();
  }
};
