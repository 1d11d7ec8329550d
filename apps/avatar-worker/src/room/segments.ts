/**
 * The agent's speech that the avatar has not said yet: segments in the order of their start. Each segment is a byte
 * stream.
 */
import type { ByteStreamReader } from "@livekit/rtc-node";
import { createSoundDecoder, readFormat, SAMPLE_BYTES, type SoundDecoder, type SoundFormat } from "./decode-sound.ts";

/** Limit of waiting sound of a call: 23 MB. An agent cannot be slowed down, so the rest of a segment is dropped. */
const MAX_SECONDS = 120;
/** Limit of waiting pieces. A piece is at most `PIECE_SECONDS` long, because it is decoded at once. */
const MAX_PIECES = 20_000;
const PIECE_SECONDS = 0.1;
/** Limit of segments. An agent has one or two. */
const MAX_SEGMENTS = 16;

export type Segment = {
  readonly reader: ByteStreamReader;
  /** null for an unsupported format. */
  readonly decoder: SoundDecoder | null;
  readonly bytesPerSecond: number;
  readonly pieces: Uint8Array[];
  readonly frames: Int16Array[];
  /** Number of frames that `peek` has returned. */
  peekedFrames: number;
  playedSamples: number;
  /** The stream has ended. */
  isComplete: boolean;
  isFlushed: boolean;
  /** A part of the segment is not played, because the agent has sent too much. */
  isCut: boolean;
};

export type Segments = {
  /** Begins to read a segment. False when there are too many. */
  open(reader: ByteStreamReader): boolean;
  /** The segment that is currently played. */
  first(): Segment | undefined;
  /**
   * The next frame of the first segment. It is decoded only now: an agent that sends and drops much sound costs no more
   * than one that speaks.
   */
  next(): Int16Array | undefined;
  /** The next frame of the first segment, after those that `peek` has returned. The frame stays in the queue. */
  peek(): Int16Array | undefined;
  /** Removes the first segment. */
  finish(): void;
  /** Removes and returns all segments. Later data of their streams is dropped. */
  clear(): Segment[];
};

const newSegment = (reader: ByteStreamReader): Segment => {
  const format: SoundFormat | null = readFormat(reader.info.attributes);
  return {
    reader,
    decoder: format && createSoundDecoder(format),
    bytesPerSecond: format ? format.sampleRate * format.channels * SAMPLE_BYTES : 0,
    ...{ pieces: [], frames: [], peekedFrames: 0, playedSamples: 0, isComplete: false, isFlushed: false, isCut: false },
  };
};

/** The waiting sound of all segments. */
type Waiting = { seconds: number; pieces: number };

/** Adds data of a stream, up to the limits. */
const addBytes = (waiting: Waiting, segment: Segment, bytes: Uint8Array): void => {
  const { bytesPerSecond, pieces } = segment;
  const pieceBytes = Math.ceil(PIECE_SECONDS * bytesPerSecond);
  for (let start = 0; start < bytes.length && !segment.isCut; start += pieceBytes) {
    const piece = bytes.subarray(start, start + pieceBytes);
    segment.isCut = waiting.seconds >= MAX_SECONDS || waiting.pieces >= MAX_PIECES;
    if (segment.isCut) return;
    pieces.push(piece);
    waiting.pieces++;
    waiting.seconds += piece.length / bytesPerSecond;
  }
};

/** Decodes the next piece. Returns false when no piece waits. */
const decodeNext = (waiting: Waiting, { decoder, pieces, frames, bytesPerSecond }: Segment): boolean => {
  const piece = pieces.shift();
  if (!piece || !decoder) return false;
  waiting.pieces--;
  waiting.seconds -= piece.length / bytesPerSecond;
  frames.push(...decoder.push(piece));
  return true;
};

/**
 * Decodes until a segment has more than `count` frames, or no piece waits. A resampler can need more than one piece for
 * a frame.
 */
const decodeFrames = (waiting: Waiting, segment: Segment, count: number): void => {
  while (segment.frames.length <= count && decodeNext(waiting, segment)) {
    // `decodeNext` does the work.
  }
  if (segment.frames.length > count || !segment.isComplete || segment.isFlushed) return;
  segment.isFlushed = true;
  segment.frames.push(...(segment.decoder?.flush() ?? []));
};

/** `onCut`: called for each segment that is not played to its end. */
export const createSegments = (onCut: () => void): Segments => {
  const segments: Segment[] = [];
  const waiting: Waiting = { seconds: 0, pieces: 0 };

  const read = async (segment: Segment): Promise<void> => {
    if (segment.decoder === null) segment.isCut = true;
    else {
      for await (const bytes of segment.reader) {
        if (!segments.includes(segment)) return;
        addBytes(waiting, segment, bytes);
        if (segment.isCut) return;
      }
    }
  };
  const receive = async (segment: Segment): Promise<void> => {
    try {
      await read(segment);
    } catch {
      // The agent has left, or the stream is too long. Its received part is played.
      segment.isCut = true;
    } finally {
      segment.isComplete = true;
      if (segment.isCut) onCut();
      await segment.reader.close();
    }
  };
  return {
    open: (reader) => {
      if (segments.length >= MAX_SEGMENTS) return false;
      const segment = newSegment(reader);
      segments.push(segment);
      void receive(segment);
      return true;
    },
    first: () => segments[0],
    next: () => {
      const [segment] = segments;
      if (!segment) return undefined;
      decodeFrames(waiting, segment, 0);
      if (segment.peekedFrames > 0) segment.peekedFrames--;
      return segment.frames.shift();
    },
    peek: () => {
      const [segment] = segments;
      if (!segment) return undefined;
      decodeFrames(waiting, segment, segment.peekedFrames);
      const frame = segment.frames[segment.peekedFrames];
      if (frame) segment.peekedFrames++;
      return frame;
    },
    finish: () => segments.shift()?.decoder?.close(),
    clear: () => {
      Object.assign(waiting, { seconds: 0, pieces: 0 });
      const all = segments.splice(0);
      for (const { reader, decoder } of all) {
        void reader.close();
        decoder?.close();
      }
      return all;
    },
  };
};
