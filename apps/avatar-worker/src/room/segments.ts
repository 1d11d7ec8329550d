/** What an agent has said and the avatar has not: segments of speech, each of them a byte stream, in the order in which they began. */
import type { ByteStreamReader } from "@livekit/rtc-node";
import { FRAME_MS } from "../renderer/renderer.ts";
import { createSoundDecoder, readFormat, type SoundDecoder } from "./decode-sound.ts";

/** How much sound of a call waits at most: 12 MB. Nothing can slow an agent down, so the rest of a segment is dropped. */
const MAX_FRAMES = (120 * 1000) / FRAME_MS;
/** An agent has one or two. */
const MAX_SEGMENTS = 16;

export type Segment = {
  readonly reader: ByteStreamReader;
  readonly frames: Int16Array[];
  playedSamples: number;
  /** Nothing more comes. */
  isComplete: boolean;
  /** The agent has sent more than is played. */
  isCut: boolean;
};

export type Segments = {
  /** Reads a segment from now on. False when there are too many. */
  open(reader: ByteStreamReader): boolean;
  /** The segment that is played now. */
  first(): Segment | undefined;
  /** Its next frame. */
  next(): Int16Array | undefined;
  /** Removes it. */
  finish(): void;
  /** Removes all, and returns them. What still comes of them is dropped. */
  clear(): Segment[];
};

/** `onCut` is called for each segment that is not played to its end. */
export const createSegments = (onCut: () => void): Segments => {
  const segments: Segment[] = [];
  let queued = 0;

  const add = (segment: Segment, frames: Int16Array[]): void => {
    const taken = frames.slice(0, MAX_FRAMES - queued);
    segment.isCut = taken.length < frames.length;
    segment.frames.push(...taken);
    queued += taken.length;
  };
  const read = async (segment: Segment, decoder: SoundDecoder): Promise<void> => {
    for await (const bytes of segment.reader) {
      if (!segments.includes(segment)) return;
      add(segment, decoder.push(bytes));
      if (segment.isCut) return;
    }
    if (segments.includes(segment)) add(segment, decoder.flush());
  };
  const receive = async (segment: Segment): Promise<void> => {
    const format = readFormat(segment.reader.info.attributes);
    const decoder = format && createSoundDecoder(format);
    try {
      if (decoder) await read(segment, decoder);
      else segment.isCut = true;
    } catch {
      // The agent has left, or the stream is longer than any that is read. What has come of it is played.
      segment.isCut = true;
    } finally {
      decoder?.close();
      segment.isComplete = true;
      if (segment.isCut) onCut();
      await segment.reader.close();
    }
  };

  return {
    open: (reader) => {
      if (segments.length >= MAX_SEGMENTS) return false;
      const segment = { reader, frames: [], playedSamples: 0, isComplete: false, isCut: false };
      segments.push(segment);
      void receive(segment);
      return true;
    },
    first: () => segments[0],
    next: () => {
      const frame = segments[0]?.frames.shift();
      if (frame) queued--;
      return frame;
    },
    finish: () => void segments.shift(),
    clear: () => {
      queued = 0;
      const all = segments.splice(0);
      for (const { reader } of all) void reader.close();
      return all;
    },
  };
};
