/** Inspects the containers of videos and of audio files, without decoding them. Runs in a child process. */
import { ASSET_LIMITS, type ContentType } from "@realtime-avatar/domain/assets/limits";
import {
  ADTS,
  CustomSource,
  EncodedPacketSink,
  FLAC,
  Input,
  type InputFormat,
  type InputTrack,
  type InputVideoTrack,
  MP3,
  MP4,
  OGG,
  WAVE,
  WEBM,
} from "mediabunny";
import { type Colors, SRGB } from "../measure/light.ts";
import { type Refused, type Report, refused, type Task } from "../report.ts";
import { type Edit, readEditLists, type Span, shownSpan } from "./edit-lists.ts";
import { hasBoundedTables, hasSampleTables, type MediaFile } from "./sample-tables.ts";

/**
 * Reads MP4 and QuickTime in the same way. The format of mediabunny depends on the major brand, which a camera may
 * invent and which QuickTime need not have. `readEditLists` shows whether a file is of this format.
 */
const ISOBMFF: InputFormat = Object.create(MP4, { _canReadInput: { value: async () => true } });

/** The reader of each type. Only the reader of its type reads a file. */
const READERS: Record<ContentType<"video" | "audio">, InputFormat> = {
  "video/mp4": ISOBMFF,
  "video/quicktime": ISOBMFF,
  "video/webm": WEBM,
  "audio/mp4": ISOBMFF,
  "audio/aac": ADTS,
  "audio/mpeg": MP3,
  "audio/wav": WAVE,
  "audio/ogg": OGG,
  "audio/flac": FLAC,
};

/** The advice for a file that cannot be read. */
const AGAIN = {
  video: "Upload it again, or convert it to MP4 with H.264.",
  audio: "Upload it again, or convert it to MP3.",
};
const notReadable = (kind: keyof typeof AGAIN): Refused =>
  refused("not_decodable", "The file cannot be read: it is damaged or incomplete.", AGAIN[kind]);

/** An open file, and the edits of its tracks by their ids. */
type Opened = { input: Input; edits: Map<number, Edit[]> };

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** Whether sizes, counts and rates are those of a real file. The readers pass on the values in the file unchecked. */
const areCounts = (...values: number[]): boolean =>
  values.every((value) => Number.isInteger(value) && value >= 1 && value <= 2 ** 31);

/** Whether the track has a packet. With some formats, mediabunny never finishes the duration of a track without one. */
const hasPackets = async (track: InputTrack): Promise<boolean> =>
  ((await new EncodedPacketSink(track).getFirstPacket())?.data.length ?? 0) > 0;

/**
 * Whether the data of the last packet are in the file. An incomplete file has only the entry in its table of packets.
 */
const isComplete = async (track: InputTrack): Promise<boolean> =>
  ((await new EncodedPacketSink(track).getPacket(Number.POSITIVE_INFINITY))?.data.length ?? 0) > 0;

const durationRefusal = (seconds: number): Refused | null => {
  const { minSeconds, maxSeconds } = ASSET_LIMITS.video;
  const measured = `The video lasts ${rounded(seconds)} s`;
  if (seconds < minSeconds) {
    return refused("too_short", `${measured}; the minimum is ${minSeconds} s.`, "Use a longer one.", rounded(seconds));
  }
  if (seconds <= maxSeconds) return null;
  return refused("too_long", `${measured}; the maximum is ${maxSeconds} s.`, "Cut it.", rounded(seconds));
};

/** Codecs divide frames into blocks of 16 pixels, so the coded height of 1080p is 1088. */
const inBlocks = (pixels: number): number => 16 * Math.ceil(pixels / 16);

/** `round` is applied to the limits. */
const sizeRefusal = (width: number, height: number, round = (pixels: number) => pixels): Refused | null => {
  const { maxLongSide, maxShortSide } = ASSET_LIMITS.video;
  if (Math.max(width, height) <= round(maxLongSide) && Math.min(width, height) <= round(maxShortSide)) return null;
  const measured = `The video has ${width} x ${height} pixels; the maximum is ${maxLongSide} x ${maxShortSide}`;
  return refused("resolution_too_high", `${measured}.`, "Scale it down.");
};

const CODEC_NAMES = { avc: "H.264", vp9: "VP9" };

/** The span of all samples of a track, and their number. */
const spanOfSamples = async (track: InputTrack): Promise<Span & { count: number }> => {
  const span = { start: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY, count: 0 };
  for await (const { timestamp, duration } of new EncodedPacketSink(track).packets(undefined, undefined, {
    metadataOnly: true,
  })) {
    span.start = Math.min(span.start, timestamp);
    span.end = Math.max(span.end, timestamp + duration);
    span.count += 1;
  }
  return span;
};

/** The shown part of a track. `samples`: the span of its samples. */
const shownOf = (track: InputTrack, samples: Span, { edits }: Opened): Span => {
  const own = edits.get(track.id);
  if (own === undefined) return samples;
  return shownSpan(own, samples) ?? { start: 0, end: 0 };
};

/** The audible part of an audio track; null for a track without samples. */
const heardOf = async (track: InputTrack, opened: Opened): Promise<Span | null> => {
  if (!(await hasPackets(track))) return null;
  const samples = { start: await track.getFirstTimestamp(), end: await track.computeDuration() };
  return shownOf(track, samples, opened);
};

/** The span of a file with this video track: from the start of its first track to the end of its last one. */
const spanOfFile = async (shown: Span, opened: Opened): Promise<Span> => {
  const { start, end } = shown;
  const heard = await Promise.all((await opened.input.getAudioTracks()).map((track) => heardOf(track, opened)));
  const spans = heard.filter((span) => span !== null);
  return {
    start: Math.min(start, ...spans.map((span) => span.start)),
    end: Math.max(end, ...spans.map((span) => span.end)),
  };
};

/**
 * The colour space of a video, according to its container or its codec; sRGB when it names no colour space or another
 * one.
 */
const colorsOf = async (track: InputVideoTrack): Promise<Colors> => {
  const space = await track.getColorSpace().catch(() => null);
  if (!space) return SRGB;
  const { transfer, primaries } = space;
  return {
    transfer: transfer === "pq" || transfer === "hlg" ? transfer : SRGB.transfer,
    primaries: primaries === "bt2020" ? "bt2020" : primaries === "smpte432" ? "p3" : SRGB.primaries,
  };
};

const rateRefusal = (framesPerSecond: number): Refused | null => {
  const { maxFramesPerSecond } = ASSET_LIMITS.video;
  // Timestamps are rounded: a video of 60 frames per second can measure 60.02.
  if (Math.round(framesPerSecond) <= maxFramesPerSecond) return null;
  const measured = `The video has ${rounded(framesPerSecond)} frames per second`;
  const facts = `${measured}; the maximum is ${maxFramesPerSecond}.`;
  return refused("frame_rate_too_high", facts, "Convert it to a lower frame rate.", rounded(framesPerSecond));
};

const readVideo = async (opened: Opened): Promise<Report<"video">> => {
  const { input } = opened;
  const track = await input.getPrimaryVideoTrack();
  if (!track) return refused("no_video_track", "The file has no video track.", "Use one with pictures.");
  const codec = await track.getCodec();
  const { codecs } = ASSET_LIMITS.video;
  if (codec === null || !codecs.some((allowed) => allowed === codec)) {
    const allowed = codecs.map((name) => CODEC_NAMES[name]).join(" and ");
    // Often HEVC, which phones record by default.
    const facts = `The codec is ${codec ?? "unknown"}; allowed are ${allowed}.`;
    return refused("codec_not_allowed", facts, "Convert the video to MP4 with H.264.");
  }
  const [width, height] = [await track.getDisplayWidth(), await track.getDisplayHeight()];
  if (!areCounts(width, height)) return notReadable("video");
  // The displayed size can be smaller than the coded size, which a decoder allocates.
  const tooLarge =
    sizeRefusal(width, height) ?? sizeRefusal(await track.getCodedWidth(), await track.getCodedHeight(), inBlocks);
  if (tooLarge) return tooLarge;
  if (!(await hasPackets(track))) return notReadable("video");
  const { count, ...samples } = await spanOfSamples(track);
  const shown = shownOf(track, samples, opened);
  const span = await spanOfFile(shown, opened);
  const seconds = span.end - span.start;
  const framesPerSecond = Number((count / (samples.end - samples.start)).toPrecision(16));
  if (!Number.isFinite(seconds) || !Number.isFinite(framesPerSecond)) return notReadable("video");
  const refusal = durationRefusal(seconds) ?? rateRefusal(framesPerSecond);
  if (refusal) return refusal;
  if (!(await isComplete(track))) return notReadable("video");
  return {
    kind: "accepted",
    width,
    height,
    seconds: rounded(seconds),
    shownFrom: rounded(shown.start - span.start),
    shownTo: rounded(shown.end - span.start),
    framesPerSecond: rounded(framesPerSecond),
    codec,
    colors: await colorsOf(track),
  };
};

const readAudio = async (opened: Opened): Promise<Report<"audio">> => {
  const { input } = opened;
  const track = await input.getPrimaryAudioTrack();
  if (!track) return refused("no_audio_track", "The file has no audio track.", "Use one with sound.");
  if (await input.getPrimaryVideoTrack()) {
    return refused("unexpected_video_track", "The file is an audio file and has a video track.", "Convert it to MP3.");
  }
  const codec = await track.getCodec();
  if (codec === null)
    return refused("codec_not_allowed", "The codec of the audio track is unknown.", "Convert it to MP3.");
  const heard = await heardOf(track, opened);
  if (!heard) return refused("too_short", "The audio has no samples.", "Record it again.");
  const seconds = heard.end - heard.start;
  const { minSecondsExclusive } = ASSET_LIMITS.audio;
  if (!Number.isFinite(seconds)) return notReadable("audio");
  if (seconds <= minSecondsExclusive) {
    return refused(
      "too_short",
      `The audio lasts ${rounded(seconds)} s; it must last longer than ${minSecondsExclusive} s.`,
      "Record it again.",
    );
  }
  const [channels, sampleRate] = [await track.getNumberOfChannels(), await track.getSampleRate()];
  if (!areCounts(channels, sampleRate) || !(await isComplete(track))) return notReadable("audio");
  return {
    kind: "accepted",
    seconds: rounded(seconds),
    channels,
    sampleRate,
    codec,
  };
};

/** The facts of a video or of an audio file. Refuses a file that breaks a limit, and each error of the reader. */
export const inspectMedia = async (
  file: MediaFile,
  { kind, contentType }: Task<"video"> | Task<"audio">,
): Promise<Report<"video"> | Report<"audio">> => {
  const hasTables = hasSampleTables(contentType);
  if (hasTables && !hasBoundedTables(file)) return notReadable(kind);
  const edits = hasTables ? readEditLists(file) : new Map<number, Edit[]>();
  if (!edits) return notReadable(kind);
  const source = new CustomSource({ getSize: () => file.size, read: file.read, prefetchProfile: "fileSystem" });
  const input = new Input({ formats: [READERS[contentType]], source });
  try {
    // Recorders write the list of tracks last, so an incomplete file lacks it.
    if ((await input.getTracks()).length === 0) return notReadable(kind);
    return kind === "video" ? await readVideo({ input, edits }) : await readAudio({ input, edits });
  } catch {
    return notReadable(kind);
  } finally {
    input.dispose();
  }
};
