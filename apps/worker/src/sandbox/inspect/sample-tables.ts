/**
 * The sample tables of an MP4 or QuickTime file. A few of their bytes can count billions of samples, and the reader of
 * containers trusts each count: 12 bytes of `stsc` cost it hours. So the counts are compared with the size of the file
 * before it reads them. ISO/IEC 14496-12 defines the boxes.
 */

/** Whether files of this type have sample tables. */
export const hasSampleTables = (contentType: string): boolean =>
  /^(video\/mp4|video\/quicktime|audio\/mp4)$/.test(contentType);

/** Reads the bytes from `start` to `end`, or to the end of the file. */
export type ReadBytes = (start: number, end: number) => Buffer;
export type MediaFile = { read: ReadBytes; size: number };
/** `start`, `end`: the bounds of its content. */
export type Box = { name: string; start: number; end: number };

const CONTAINERS = new Set(["moov", "trak", "edts", "mdia", "minf", "stbl", "moof", "traf"]);
/** A film of two minutes in fragments of a second has 3000. */
const MAX_BOXES = 100_000;
/** The maximum number of samples that are listed one by one: more than an hour of video, or six hours of audio. */
const MAX_LISTED = 2 ** 20;
/**
 * The reader visits all samples of a chunk for each sample of a video. Two minutes of video in one chunk need 2 ** 26
 * visits.
 */
const MAX_VISITS = 2 ** 28;
/** By how many entries the count of a table may be too high, because some writers are careless. */
const SLACK = 4096;
const MAX_TABLE_BYTES = 16 * MAX_LISTED;
/** A table is at depth six. */
const MAX_DEPTH = 16;

/** The tables of a track. */
type Track = {
  isVideo: boolean;
  /** How many sizes of samples are listed. */
  sizes: number;
  chunks: number;
  /** First chunk, counted from 1, and the samples in each, of each run of chunks. */
  runs: [first: number, samples: number][];
  /** The numbers of samples with a time, and with an offset of the time. */
  timed: number;
  moved: number;
};

/** The boxes from `start` to `end`, as the reader sees them. It stops at a box without an end. */
export function* boxesIn({ read, size }: MediaFile, start: number, end: number): Generator<Box> {
  for (let at = start; at + 8 <= end; ) {
    const head = read(at, at + 16);
    if (head.length < 8) return;
    const isLong = head.readUInt32BE(0) === 1;
    const headBytes = isLong ? 16 : 8;
    if (head.length < headBytes) return;
    const boxBytes = isLong ? Number(head.readBigUInt64BE(8)) : head.readUInt32BE(0);
    if (boxBytes < headBytes) return;
    yield { name: head.toString("latin1", 4, 8), start: at + headBytes, end: Math.min(size, at + boxBytes) };
    at += boxBytes;
  }
}

/**
 * The first two words of each entry of a table, whose entries have `words` words each: as many entries as the table
 * counts and contains.
 */
function* entriesOf(content: Buffer, words: number): Generator<[number, number]> {
  const count = countOf(content, 4);
  for (let entry = 0, at = 8; entry < count && at + 4 * words <= content.length; entry++, at += 4 * words) {
    yield [content.readUInt32BE(at), content.readUInt32BE(at + 4)];
  }
}
const countOf = (content: Buffer, offset: number): number =>
  content.length >= offset + 4 ? content.readUInt32BE(offset) : 0;
const sumOf = (entries: Iterable<[count: number, number]>): number => {
  let sum = 0;
  for (const [count] of entries) sum += count;
  return sum;
};

/** Adds a table to its track. */
const addTable = (track: Track, name: string, content: Buffer): void => {
  switch (name) {
    case "hdlr":
      track.isVideo ||= content.toString("latin1", 8, 12) === "vide";
      break;
    case "stsz":
      if (countOf(content, 4) === 0) track.sizes += countOf(content, 8);
      break;
    case "stz2":
      track.sizes += countOf(content, 8);
      break;
    case "stco":
    case "co64":
      track.chunks += countOf(content, 4);
      break;
    case "stsc":
      for (const run of entriesOf(content, 3)) track.runs.push(run);
      break;
    case "stts":
      track.timed += sumOf(entriesOf(content, 2));
      break;
    case "ctts":
      track.moved += sumOf(entriesOf(content, 2));
      break;
  }
};

const areRunsBounded = ({ isVideo, sizes, chunks, runs }: Track): boolean => {
  let last = 0;
  for (const [first, samples] of runs) {
    if (first <= last || first > chunks + SLACK) return false;
    last = first;
    // With one size for all samples, the reader only multiplies, so the number of samples does not matter.
    if (sizes === 0) continue;
    if (samples > sizes + SLACK || (isVideo && samples * sizes > MAX_VISITS)) return false;
  }
  return true;
};

/** Each sample has at least half a byte, in the file or in the list of sizes. */
const isTrackBounded = (track: Track, fileBytes: number): boolean => {
  const { sizes, chunks, timed, moved } = track;
  const most = 2 * fileBytes;
  if (sizes > most || chunks > most || timed > most || moved > most) return false;
  // With moved times, the reader lists the time of each sample.
  if (moved > 0 && Math.max(moved, timed) > MAX_LISTED) return false;
  return areRunsBounded(track);
};

/** The samples that a box of a fragment counts. */
const countOfFragment = (name: "trun" | "saiz", content: Buffer): number => {
  if (name === "trun") return countOf(content, 4);
  const hasType = ((content[3] ?? 0) & 1) === 1;
  return countOf(content, hasType ? 13 : 5);
};

const TABLES = new Set(["hdlr", "stsz", "stz2", "stco", "co64", "stsc", "stts", "ctts"]);

/**
 * Whether the work of a reader of the file's sample tables is bounded by the size of the file. A file without boxes has
 * no tables.
 */
export const hasBoundedTables = (file: MediaFile): boolean => {
  const { read, size } = file;
  let boxes = 0;
  let listed = 0;
  const isBounded = (start: number, end: number, track: Track | null, depth: number): boolean => {
    if (depth > MAX_DEPTH) return false;
    for (const box of boxesIn(file, start, end)) {
      boxes += 1;
      if (boxes > MAX_BOXES) return false;
      const { name } = box;
      if (CONTAINERS.has(name)) {
        const own = { isVideo: false, sizes: 0, chunks: 0, runs: [], timed: 0, moved: 0 };
        const inner = name === "trak" ? own : track;
        if (!isBounded(box.start, box.end, inner, depth + 1)) return false;
        if (name === "trak" && !isTrackBounded(own, size)) return false;
      } else if (track && TABLES.has(name)) {
        if (box.end - box.start > MAX_TABLE_BYTES) return false;
        addTable(track, name, read(box.start, box.end));
      } else if (name === "trun" || name === "saiz") {
        listed += countOfFragment(name, read(box.start, Math.min(box.end, box.start + 17)));
        if (listed > Math.min(2 * size, MAX_LISTED)) return false;
      }
    }
    return true;
  };
  return isBounded(0, size, null, 0);
};
