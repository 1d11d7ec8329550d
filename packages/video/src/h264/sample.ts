/** Pictures of the encoder in the form of an MP4 file. */
import type { VideoFormat } from "../mp4/boxes.ts";
import { VIDEO_SIZE } from "./encoder.ts";
import { COLOURS, improveSequenceParameters } from "./parameter-set.ts";

/** A unit, preceded by its length. */
export const withLength = (unit: Uint8Array): Uint8Array => {
  const sample = new Uint8Array(4 + unit.length);
  new DataView(sample.buffer).setUint32(0, unit.length);
  sample.set(unit, 4);
  return sample;
};

/** The description of pictures, from their parameter sets. Throws for a form that the encoder does not write. */
export const videoFormat = (sequence: Uint8Array, picture: Uint8Array, picturesPerSecond: number): VideoFormat => ({
  size: VIDEO_SIZE,
  sequence: improveSequenceParameters(sequence, picturesPerSecond),
  picture,
  colours: COLOURS,
});
