/**
 * The edit lists of an MP4 or QuickTime file: which part of each track is shown, and when (ISO/IEC 14496-12, 8.6.6). A
 * program that cuts a video without encoding it anew changes only these. The reader of containers knows only the first
 * edit of a track, without its length.
 */
import { type Box, boxesIn, type MediaFile } from "./sample-tables.ts";

/** A part of a track, in seconds. `mediaStart` null: the track shows nothing for `duration`. */
export type Edit = { mediaStart: number | null; duration: number };
/** The shown part of a track: from `start` to `end`, in seconds. */
export type Span = { start: number; end: number };

type Header = { timescale: number; id: number };
const NONE: Header = { timescale: 0, id: 0 };

/** The timescale of `mvhd` and `mdhd`, or the id of `tkhd`, which are at the same place. */
const readHeader = (content: Buffer): number => {
  const at = content[0] === 1 ? 20 : 12;
  return content.length >= at + 4 ? content.readUInt32BE(at) : 0;
};

/** Real files have a few. */
const MAX_EDITS = 1000;

type RawEdit = { duration: number; mediaTime: number };

const readEdits = (content: Buffer): RawEdit[] => {
  if (content.length < 8) return [];
  const isLong = content[0] === 1;
  const bytes = isLong ? 20 : 12;
  const edits: RawEdit[] = [];
  for (let at = 8; at + bytes <= content.length && edits.length < content.readUInt32BE(4); at += bytes) {
    edits.push(
      isLong
        ? { duration: Number(content.readBigUInt64BE(at)), mediaTime: Number(content.readBigInt64BE(at + 8)) }
        : { duration: content.readUInt32BE(at), mediaTime: content.readInt32BE(at + 4) },
    );
  }
  return edits;
};

const CONTAINERS = new Set(["mdia", "edts"]);

const readTrack = (file: MediaFile, track: Box): { header: Header; edits: RawEdit[] } => {
  const found = { header: { ...NONE }, edits: [] as RawEdit[] };
  const walk = (parent: Box): void => {
    for (const box of boxesIn(file, parent.start, parent.end)) {
      if (CONTAINERS.has(box.name)) walk(box);
      const content = (bytes: number): Buffer => file.read(box.start, Math.min(box.end, box.start + bytes));
      if (box.name === "tkhd") found.header.id = readHeader(content(32));
      if (box.name === "mdhd") found.header.timescale = readHeader(content(32));
      if (box.name === "elst") found.edits = readEdits(content(8 + 20 * MAX_EDITS));
    }
  };
  walk(track);
  return found;
};

/**
 * The edits of each track with edits, by the id of the track; null for a file without `moov`. Call `hasBoundedTables`
 * before this function.
 */
export const readEditLists = (file: MediaFile): Map<number, Edit[]> | null => {
  const movie = [...boxesIn(file, 0, file.size)].find(({ name }) => name === "moov");
  if (!movie) return null;
  const boxes = [...boxesIn(file, movie.start, movie.end)];
  const head = boxes.find(({ name }) => name === "mvhd");
  const movieScale = head ? readHeader(file.read(head.start, Math.min(head.end, head.start + 32))) : 0;
  const lists = new Map<number, Edit[]>();
  for (const box of boxes) {
    if (box.name !== "trak") continue;
    const { header, edits } = readTrack(file, box);
    if (edits.length === 0 || header.timescale === 0 || movieScale === 0) continue;
    const inSeconds = edits.map(({ duration, mediaTime }) => ({
      mediaStart: mediaTime === -1 ? null : mediaTime / header.timescale,
      duration: duration / movieScale,
    }));
    lists.set(header.id, inSeconds);
  }
  return lists;
};

/**
 * The part of a track that its edits show. `media`: the span of its samples according to the reader of containers. The
 * reader moves this span by the first edit that shows media and by the empty edits before it. Null when no part is
 * shown.
 */
export const shownSpan = (edits: readonly Edit[], media: Span): Span | null => {
  const first = edits.findIndex(({ mediaStart }) => mediaStart !== null);
  if (first === -1) return null;
  const delay = edits.slice(0, first).reduce((sum, { duration }) => sum + duration, 0);
  const moved = (edits[first]?.mediaStart ?? 0) - delay;
  const shown: Span = { start: Number.POSITIVE_INFINITY, end: 0 };
  let at = 0;
  for (const { mediaStart, duration } of edits) {
    if (mediaStart !== null) {
      // In a fragmented file, the duration 0 stands for the rest of the track.
      const mediaEnd = duration === 0 ? Number.POSITIVE_INFINITY : mediaStart + duration;
      const start = at + Math.max(media.start + moved, mediaStart) - mediaStart;
      const end = at + Math.min(media.end + moved, mediaEnd) - mediaStart;
      if (end > start) Object.assign(shown, { start: Math.min(start, shown.start), end: Math.max(end, shown.end) });
    }
    at += duration;
  }
  return shown.end > shown.start ? shown : null;
};
