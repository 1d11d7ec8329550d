/** The sound and the picture of a gap in a recording: silence with a short quiet tone at its beginning and end, and a still. */
import { drawTextPicture } from "@realtime-avatar/face/marks";
import { AAC_FRAME_SAMPLES, createAacEncoder } from "@realtime-avatar/video/aac/encoder";
import { openVideoEncoder } from "@realtime-avatar/video/h264/encoder";
import { QUANTIZER } from "@realtime-avatar/video/h264/rate";
import type { EncodedGroup } from "@realtime-avatar/video/h264/read-units";

/** A track is appended without a gap if it begins at most this long after the end of the previous one. */
export const MIN_GAP_MS = 500;

const SAMPLE_RATE = 48_000;
/** 213 ms of 440 Hz, 27 dB below full scale. Two tones are shorter than the shortest gap. */
const TONE_FRAMES = 10;
const TONE_HERTZ = 440;
const TONE_PEAK = 1500;
const TEXT = "NO RECORDING";

/** The tone grows and fades, so that it does not click. */
const tone = (): Int16Array => {
  const length = TONE_FRAMES * AAC_FRAME_SAMPLES;
  return Int16Array.from({ length }, (_, at) => {
    const loudness = Math.sin((Math.PI * at) / length);
    return TONE_PEAK * loudness * Math.sin((2 * Math.PI * TONE_HERTZ * at) / SAMPLE_RATE);
  });
};

const encode = (pcm: Int16Array): Uint8Array[] => {
  const encoder = createAacEncoder();
  const frames: Uint8Array[] = [];
  for (let at = 0; at < pcm.length; at += AAC_FRAME_SAMPLES)
    frames.push(encoder.encode(pcm.subarray(at, at + AAC_FRAME_SAMPLES)));
  // The encoder returns the last sound with the next frame.
  return [...frames, encoder.encode(new Int16Array(AAC_FRAME_SAMPLES))];
};

export type Gap = {
  /** A frame of silence. */
  silence: Uint8Array;
  /** The frames of a gap of `count` frames. */
  sound: (count: number) => Iterable<Uint8Array>;
  /** The picture of a gap: a group of one key picture. */
  still: EncodedGroup;
};

/** Encodes the frames and the picture that all gaps share. */
export const createGap = async (): Promise<Gap> => {
  const marked = encode(tone());
  const [silence = new Uint8Array(0)] = encode(new Int16Array(AAC_FRAME_SAMPLES));
  const group = await (await openVideoEncoder()).begin(QUANTIZER);
  group.add(drawTextPicture(TEXT));
  return {
    silence,
    sound: function* (count) {
      yield* marked;
      for (let frame = 2 * marked.length; frame < count; frame++) yield silence;
      yield* marked;
    },
    still: group.end(),
  };
};
