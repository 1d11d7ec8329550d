/**
 * Reads WAV files: RIFF (Multimedia Programming Interface, 1991), WAVE_FORMAT_EXTENSIBLE (mmreg.h), and the sizes of
 * streams of unknown length. The file may be hostile, so its claims are compared with its content.
 */

/** A refusal of a file, with the reason. Its text contains no bytes of the file. */
export class MalformedSound extends Error {}

/** Reads the bytes from `start` to `end`; fewer at the end of the file. */
export type Read = (start: number, end: number) => Uint8Array;

type Encoding = "integer" | "float" | "a-law" | "mu-law";

export type WavFormat = {
  encoding: Encoding;
  channels: number;
  /** Samples of each channel a second. */
  sampleRate: number;
  bits: 8 | 16 | 24 | 32 | 64;
  /** Bytes of a sample of all channels. */
  frameBytes: number;
};

export type Wav = WavFormat & {
  /** The position of the sound in the file. */
  start: number;
  end: number;
};

const FORMATS: Record<number, Encoding> = { 1: "integer", 3: "float", 6: "a-law", 7: "mu-law" };
const EXTENSIBLE = 0xfffe;
const BITS: Record<Encoding, readonly number[]> = {
  integer: [8, 16, 24, 32],
  float: [32, 64],
  "a-law": [8],
  "mu-law": [8],
};
const MAX_CHANNELS = 32;
const [MIN_RATE, MAX_RATE] = [1000, 384_000];
/** The size that a stream of unknown length writes. */
const UNKNOWN_SIZES: readonly number[] = [0xffff_ffff, 0x7fff_ffff, 0xffff_ffff - 36, 0x7fff_ffff - 36];
/** Chunks before the sound: comments, marks, pictures. */
const MAX_CHUNKS = 1000;

const textAt = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));

const readFormat = (bytes: Uint8Array): WavFormat => {
  if (bytes.length < 16) throw new MalformedSound("The description of its format is too short.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tag = view.getUint16(0, true);
  // The format of an extensible file is the beginning of its GUID.
  const format = tag === EXTENSIBLE && bytes.length >= 26 ? view.getUint16(24, true) : tag;
  const encoding = FORMATS[format];
  const [channels, sampleRate] = [view.getUint16(2, true), view.getUint32(4, true)];
  const [frameBytes, bits] = [view.getUint16(12, true), view.getUint16(14, true)];
  if (encoding === undefined) throw new MalformedSound("It is neither PCM, floating point, A-law nor mu-law.");
  if (!BITS[encoding].includes(bits)) throw new MalformedSound("Its samples have an unknown number of bits.");
  if (channels < 1 || channels > MAX_CHANNELS)
    throw new MalformedSound(`It does not have 1 to ${MAX_CHANNELS} channels.`);
  if (sampleRate < MIN_RATE || sampleRate > MAX_RATE) {
    throw new MalformedSound(`Its rate is not between ${MIN_RATE} and ${MAX_RATE} samples a second.`);
  }
  if (frameBytes !== (channels * bits) / 8) throw new MalformedSound("The sizes of its samples contradict each other.");
  return { encoding, channels, sampleRate, bits: bits as WavFormat["bits"], frameBytes };
};

const ENDS_EARLY = "The file ends before its sound does.";

/** Finds the sound of a file of `size` bytes. Throws `MalformedSound`. */
export const readWav = (read: Read, size: number): Wav => {
  const head = read(0, 12);
  if (head.length < 12 || textAt(head, 0) !== "RIFF" || textAt(head, 8) !== "WAVE") {
    throw new MalformedSound("It does not begin as a WAV file.");
  }
  let format: WavFormat | null = null;
  let at = 12;
  for (let count = 0; count < MAX_CHUNKS && at + 8 <= size; count++) {
    const header = read(at, at + 8);
    const name = textAt(header, 0);
    const length = new DataView(header.buffer, header.byteOffset).getUint32(4, true);
    const start = at + 8;
    if (name === "fmt ") format = readFormat(read(start, Math.min(size, start + Math.min(length, 40))));
    if (name === "data") {
      if (format === null) throw new MalformedSound("Its sound comes before its format.");
      // A stream that was written to a file can also have the size 0.
      const isUnknown = UNKNOWN_SIZES.includes(length) || (length === 0 && start < size);
      if (!isUnknown && start + length > size) throw new MalformedSound(ENDS_EARLY);
      const bytes = isUnknown ? size - start : length;
      return { ...format, start, end: start + bytes - (bytes % format.frameBytes) };
    }
    // Chunks begin at even places.
    at = start + length + (length % 2);
  }
  throw new MalformedSound(format === null ? "It has no format." : "It has no sound.");
};

/** 14 bits of A-law or 13 of mu-law, as 16 (ITU-T G.711). */
const fromALaw = (byte: number): number => {
  const value = byte ^ 0x55;
  const [exponent, mantissa] = [(value >> 4) & 7, (value & 15) << 4];
  const size = exponent === 0 ? mantissa + 8 : (mantissa + 0x108) << (exponent - 1);
  return value & 0x80 ? size : -size;
};
const fromMuLaw = (byte: number): number => {
  const value = ~byte & 255;
  const size = ((((value & 15) << 3) + 0x84) << ((value >> 4) & 7)) - 0x84;
  return value & 0x80 ? -size : size;
};

type ReadSample = (view: DataView, at: number) => number;

const sampleReader = ({ encoding, bits }: WavFormat): ReadSample => {
  switch (encoding) {
    case "a-law":
      return (view, at) => fromALaw(view.getUint8(at)) / 2 ** 15;
    case "mu-law":
      return (view, at) => fromMuLaw(view.getUint8(at)) / 2 ** 15;
    case "float":
      return bits === 64 ? (view, at) => view.getFloat64(at, true) : (view, at) => view.getFloat32(at, true);
    case "integer":
      if (bits === 8) return (view, at) => (view.getUint8(at) - 128) / 2 ** 7;
      if (bits === 16) return (view, at) => view.getInt16(at, true) / 2 ** 15;
      if (bits === 24) return (view, at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23;
      return (view, at) => view.getInt32(at, true) / 2 ** 31;
  }
};

/**
 * Returns a function from bytes of whole samples to the mean of their channels: from -1 to 1. A value that is not a
 * number becomes 0.
 */
export const createMixer = (format: WavFormat): ((bytes: Uint8Array) => Float64Array) => {
  const readSample = sampleReader(format);
  const { channels, bits, frameBytes } = format;
  return (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    return Float64Array.from({ length: Math.floor(bytes.length / frameBytes) }, (_, frame) => {
      let sum = 0;
      for (let channel = 0; channel < channels; channel++) {
        sum += readSample(view, frame * frameBytes + (channel * bits) / 8);
      }
      const mean = sum / channels;
      return Number.isFinite(mean) ? Math.min(1, Math.max(-1, mean)) : 0;
    });
  };
};
