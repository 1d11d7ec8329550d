/**
 * The sequence parameter set of H.264 (ITU-T H.264, 7.3.2.1). The encoder writes a set without colours, and with
 * level 2.2, which is too low for its pictures. This module writes the set again with the correct level and colours.
 */
import { type BitWriter, createBitWriter } from "../bit-writer.ts";

/** Constrained baseline: without the features that only the extended profile has. */
const PROFILE = 66;
const CONSTRAINTS = 0xc0;
/** 3.1: at most 3600 macroblocks in a picture, 108,000 a second and 14 Mbit/s. */
const LEVEL = 31;
const SEQUENCE_PARAMETER_SET = 7;

/** The colours of a photo (sRGB) that was converted by BT.601 with limited range: ITU-T H.273. */
export const COLOURS = { primaries: 1, transfer: 13, matrix: 6, isFullRange: false } as const;

const createBitReader = (bytes: Uint8Array) => {
  let at = 0;
  const bit = (): number => {
    if (at >= 8 * bytes.length) throw new RangeError("The parameter set is too short.");
    const value = ((bytes[at >> 3] as number) >> (7 - (at & 7))) & 1;
    at++;
    return value;
  };
  const bits = (length: number): number => {
    let value = 0;
    for (let left = length; left > 0; left--) value = 2 * value + bit();
    return value;
  };
  return {
    bits,
    /** An unsigned number of the Exp-Golomb code. */
    number: (): number => {
      let zeros = 0;
      while (bit() === 0) zeros++;
      return 2 ** zeros - 1 + bits(zeros);
    },
  };
};

const writeNumber = (writer: BitWriter, value: number): void => {
  const length = 32 - Math.clz32(value + 1);
  writer.write(0, length - 1);
  writer.write(value + 1, length);
};

/** Inserts a 3 wherever a decoder would find a start code inside the unit. */
const escapeUnit = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
  const escaped: number[] = [];
  let zeros = 0;
  for (const byte of bytes) {
    if (zeros >= 2 && byte <= 3) {
      escaped.push(3);
      zeros = 0;
    }
    escaped.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Uint8Array.from(escaped);
};

/** A set of the baseline profile without cropping. `fields`: in the order of the set. */
export type SequenceParameters = {
  profile: number;
  level: number;
  /**
   * The id; log2 of the maximum frame number, minus 4; the type of the picture order (2: the order of the file); the
   * number of reference pictures.
   */
  fields: readonly [id: number, frameNumbers: number, order: number, references: number];
  hasGaps: number;
  /** In macroblocks. */
  width: number;
  height: number;
};

/** Reads a set. Throws for a form that the encoder does not write. */
export const readSequenceParameters = (unit: Uint8Array): SequenceParameters => {
  const reader = createBitReader(unit.subarray(1));
  const [profile, , level] = [reader.bits(8), reader.bits(8), reader.bits(8)];
  const [id, frameNumbers, order] = [reader.number(), reader.number(), reader.number()];
  const references = reader.number();
  const hasGaps = reader.bits(1);
  const [width, height] = [reader.number() + 1, reader.number() + 1];
  const isProgressive = reader.bits(1);
  const [, isCropped] = [reader.bits(1), reader.bits(1)];
  if (profile !== PROFILE || order !== 2 || !isProgressive || isCropped) throw new Error("An unknown parameter set.");
  return { profile, level, fields: [id, frameNumbers, order, references], hasGaps, width, height };
};

/** Hints for players: square pixels, colours, a steady rate, and pictures that are shown in the order of decoding. */
const writeUsability = (writer: BitWriter, references: number, picturesPerSecond: number): void => {
  writer.write(1, 1);
  writer.write(1, 8);
  // No overscan.
  writer.write(0, 1);
  // Video of an unspecified format, its range, and its colours.
  writer.write(1, 1);
  writer.write(5, 3);
  writer.write(COLOURS.isFullRange ? 1 : 0, 1);
  writer.write(1, 1);
  writer.write(COLOURS.primaries, 8);
  writer.write(COLOURS.transfer, 8);
  writer.write(COLOURS.matrix, 8);
  // Colour samples lie between the luma samples of two columns, because each is the mean of four pixels: type 1.
  writer.write(1, 1);
  writeNumber(writer, 1);
  writeNumber(writer, 1);
  // A picture lasts two ticks.
  writer.write(1, 1);
  writer.write(1, 32);
  writer.write(2 * picturesPerSecond, 32);
  writer.write(1, 1);
  // No model of buffers, no structure of pictures.
  writer.write(0, 3);
  // Restrictions: vectors may leave the picture; no limits of bytes or vectors; no reordering.
  writer.write(1, 1);
  writer.write(1, 1);
  for (const value of [0, 0, 16, 16, 0, references]) writeNumber(writer, value);
};

/** Rewrites the set of the encoder with the right level, colours and times. */
export const improveSequenceParameters = (unit: Uint8Array, picturesPerSecond: number): Uint8Array<ArrayBuffer> => {
  const { fields, hasGaps, width, height } = readSequenceParameters(unit);
  const writer = createBitWriter();
  writer.write(((unit[0] as number) & 0x60) | SEQUENCE_PARAMETER_SET, 8);
  writer.write(PROFILE, 8);
  writer.write(CONSTRAINTS, 8);
  writer.write(LEVEL, 8);
  for (const field of fields) writeNumber(writer, field);
  writer.write(hasGaps, 1);
  writeNumber(writer, width - 1);
  writeNumber(writer, height - 1);
  // Four flags: only whole pictures, inference for 8 × 8 blocks, no cropping, and that hints for players follow.
  writer.write(0b1101, 4);
  writeUsability(writer, fields[3], picturesPerSecond);
  // The end of a set.
  writer.write(1, 1);
  return escapeUnit(writer.bytes());
};
