/** Boxes of MP4 (ISO/IEC 14496-12, 14496-14 and 14496-15). */

export type Bytes = Uint8Array;

export const concat = (...parts: readonly (Bytes | readonly number[])[]): Bytes => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

export const uint16 = (value: number): number[] => [(value >>> 8) & 255, value & 255];
export const uint32 = (value: number): number[] => [...uint16(Math.floor(value / 2 ** 16)), ...uint16(value)];

/** Numbers of 32 bits. */
export const table = (values: ArrayLike<number>): Bytes => {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < values.length; index++) view.setUint32(4 * index, values[index] as number);
  return bytes;
};

const characters = (text: string): number[] => [...text].map((character) => character.charCodeAt(0));

/** A box with a name of four characters. */
export const box = (name: string, ...content: readonly (Bytes | readonly number[])[]): Bytes => {
  const length = content.reduce((sum, part) => sum + part.length, 8);
  return concat(uint32(length), characters(name), ...content);
};

/** A box with a version and flags. */
export const fullBox = (name: string, flags: number, ...content: readonly (Bytes | readonly number[])[]): Bytes =>
  box(name, uint32(flags), ...content);

const zeros = (count: number): number[] => new Array<number>(count).fill(0);

/** A matrix without rotation and scaling: 16.16 numbers, in the last column 2.30. */
const MATRIX = [0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000].flatMap(uint32);
/** The language is undetermined: `und`. */
const UNDETERMINED = 0x55c4;

export const fileType = (): Bytes => box("ftyp", characters("isom"), uint32(512), characters("isomiso2avc1mp41"));

/** All times are zero, so that equal videos have equal bytes. */
export const movieHeader = (timescale: number, duration: number, nextTrack: number): Bytes =>
  fullBox(
    "mvhd",
    0,
    uint32(0),
    uint32(0),
    uint32(timescale),
    uint32(duration),
    uint32(0x10000),
    uint16(0x100),
    zeros(10),
    MATRIX,
    zeros(24),
    uint32(nextTrack),
  );

const [ENABLED, IN_MOVIE] = [1, 2];

/** `size`: width and height in pixels; 0 for sound. */
export const trackHeader = (id: number, duration: number, size: number): Bytes =>
  fullBox(
    "tkhd",
    ENABLED | IN_MOVIE,
    uint32(0),
    uint32(0),
    uint32(id),
    uint32(0),
    uint32(duration),
    zeros(8),
    uint16(0),
    uint16(0),
    uint16(size === 0 ? 0x100 : 0),
    uint16(0),
    MATRIX,
    uint32(size * 0x10000),
    uint32(size * 0x10000),
  );

/** Plays the track from `mediaTime`, in the track's timescale, for `duration`, in the movie's timescale. */
export const editList = (duration: number, mediaTime: number): Bytes =>
  box("edts", fullBox("elst", 0, uint32(1), uint32(duration), uint32(mediaTime), uint32(0x10000)));

export const mediaHeader = (timescale: number, duration: number): Bytes =>
  fullBox("mdhd", 0, uint32(0), uint32(0), uint32(timescale), uint32(duration), uint16(UNDETERMINED), uint16(0));

export const handler = (kind: "vide" | "soun", name: string): Bytes =>
  fullBox("hdlr", 0, uint32(0), characters(kind), zeros(12), characters(name), [0]);

/** The samples are in this file. */
export const dataInformation = (): Bytes => box("dinf", fullBox("dref", 0, uint32(1), fullBox("url ", 1)));

export type VideoFormat = {
  size: number;
  /** The parameter sets of H.264. */
  sequence: Bytes;
  picture: Bytes;
  colours: { primaries: number; transfer: number; matrix: number; isFullRange: boolean };
};

export const videoDescription = ({ size, sequence, picture, colours }: VideoFormat): Bytes => {
  const configuration = box(
    "avcC",
    [1, ...sequence.subarray(1, 4)],
    // Lengths of 4 bytes, and one set of each kind.
    [0xff, 0xe1],
    uint16(sequence.length),
    sequence,
    [1],
    uint16(picture.length),
    picture,
  );
  const { primaries, transfer, matrix, isFullRange } = colours;
  const colour = box("colr", characters("nclx"), [primaries, transfer, matrix].flatMap(uint16), [
    isFullRange ? 0x80 : 0,
  ]);
  const squarePixels = box("pasp", uint32(1), uint32(1));
  const resolution = [...uint32(72 * 0x10000), ...uint32(72 * 0x10000)];
  const entry = box(
    "avc1",
    zeros(6),
    uint16(1),
    zeros(16),
    uint16(size),
    uint16(size),
    resolution,
    zeros(4),
    uint16(1),
    zeros(32),
    uint16(24),
    [0xff, 0xff],
    configuration,
    colour,
    squarePixels,
  );
  return fullBox("stsd", 0, uint32(1), entry);
};

export type AudioFormat = { sampleRate: number; configuration: Bytes; averageBitrate: number; maxBitrate: number };

/** A descriptor of MPEG-4 Systems. Its content has at most 127 bytes. */
const descriptor = (tag: number, ...content: readonly (Bytes | readonly number[])[]): Bytes => {
  const inside = concat(...content);
  return concat([tag, inside.length], inside);
};

export const audioDescription = (format: AudioFormat): Bytes => {
  const { sampleRate, configuration, averageBitrate, maxBitrate } = format;
  const [AAC, AUDIO_STREAM] = [0x40, 0x15];
  const decoder = descriptor(
    4,
    [AAC, AUDIO_STREAM, 0, 0x03, 0],
    uint32(maxBitrate),
    uint32(averageBitrate),
    descriptor(5, configuration),
  );
  const elementary = fullBox("esds", 0, descriptor(3, uint16(0), [0], decoder, descriptor(6, [2])));
  const entry = box(
    "mp4a",
    zeros(6),
    uint16(1),
    zeros(8),
    uint16(1),
    uint16(16),
    zeros(4),
    uint16(sampleRate),
    uint16(0),
    elementary,
  );
  return fullBox("stsd", 0, uint32(1), entry);
};
