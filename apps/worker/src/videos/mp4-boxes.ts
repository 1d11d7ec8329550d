/** The boxes of an MP4 (ISO/IEC 14496-12) from our encoders, and the offsets in them. */
import type { FileHandle } from "node:fs/promises";

export type Mp4Box = { type: string; start: number; size: number; headBytes: number };

/** A file that is not an MP4 from our encoders. */
export class Mp4Error extends Error {
  override readonly name = "Mp4Error";
}

const MAX_BOXES = 1000;
/** The tables of ten minutes with 100 pictures per second are 1 MB. */
const MAX_MOVIE_BYTES = 64 * 1024 * 1024;
/**
 * The boxes of a file without fragments and without a signature. Fragments have offsets that are not corrected. A
 * signature is in a box `uuid`.
 */
const TOP_TYPES = ["ftyp", "moov", "mdat", "free", "skip"];
/** The parents of the tables of chunks. */
const PARENTS: Record<string, readonly string[]> = {
  moov: ["trak"],
  trak: ["mdia"],
  mdia: ["minf"],
  minf: ["stbl"],
  stbl: ["stco", "co64"],
};
/** Fragments, and offsets of encryption, which `moveChunks` does not correct. */
const UNSUPPORTED = ["mvex", "saio"];

/** The box at an offset of `bytes`, which hold at least its head. Throws unless it ends at most at `end`. */
const parseHead = (bytes: Buffer, offset: number, start: number, end: number): Mp4Box => {
  if (end - start < 8) throw new Mp4Error("A box of the MP4 is cut off.");
  const short = bytes.readUInt32BE(offset);
  const isLong = short === 1;
  if (isLong && end - start < 16) throw new Mp4Error("A box of the MP4 is cut off.");
  const size = isLong ? Number(bytes.readBigUInt64BE(offset + 8)) : short;
  const headBytes = isLong ? 16 : 8;
  if (size < headBytes || size > end - start) throw new Mp4Error("A box of the MP4 has an invalid size.");
  return { type: bytes.toString("latin1", offset + 4, offset + 8), start, size, headBytes };
};

/** Reads all of `bytes` from a position. Throws when the file ends before. */
export const readAll = async (file: FileHandle, bytes: Uint8Array, position: number): Promise<void> => {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesRead } = await file.read(bytes, done, bytes.byteLength - done, position + done);
    if (bytesRead === 0) throw new Mp4Error("The MP4 ended while it was read.");
    done += bytesRead;
  }
};

/** The boxes of the file, which begins with `ftyp` and has one `moov`. Throws an `Mp4Error` for any other file. */
export const readTopBoxes = async (file: FileHandle, fileBytes: number): Promise<Mp4Box[]> => {
  const boxes: Mp4Box[] = [];
  for (let start = 0; start < fileBytes; ) {
    const head = Buffer.alloc(Math.min(16, fileBytes - start));
    await readAll(file, head, start);
    const found = parseHead(head, 0, start, fileBytes);
    if (!TOP_TYPES.includes(found.type)) throw new Mp4Error("The MP4 has fragments, a signature or unknown boxes.");
    boxes.push(found);
    if (boxes.length > MAX_BOXES) throw new Mp4Error("The MP4 has too many boxes.");
    start += found.size;
  }
  const movies = boxes.filter(({ type }) => type === "moov");
  const isWhole = boxes[0]?.type === "ftyp" && boxes.filter(({ type }) => type === "ftyp").length === 1;
  if (!isWhole || movies.length !== 1) throw new Mp4Error("The MP4 must begin with ftyp and have one moov.");
  if ((movies[0]?.size ?? 0) > MAX_MOVIE_BYTES) throw new Mp4Error("The moov of the MP4 is too large.");
  return boxes;
};

/** Returns a new offset for an offset in the file. */
type Move = (offset: number) => number;

/** Changes the offsets in a table of chunks, of 32 or 64 bits. */
const moveTable = (table: Buffer, isLong: boolean, move: Move): void => {
  const width = isLong ? 8 : 4;
  const count = table.length < 8 ? -1 : table.readUInt32BE(4);
  if (count < 0 || 8 + count * width > table.length) throw new Mp4Error("A table of the MP4 is cut off.");
  for (let at = 8; at < 8 + count * width; at += width) {
    const offset = move(isLong ? Number(table.readBigUInt64BE(at)) : table.readUInt32BE(at));
    if (offset > (isLong ? Number.MAX_SAFE_INTEGER : 0xffff_ffff)) throw new Mp4Error("The MP4 is too large.");
    if (isLong) table.writeBigUInt64BE(BigInt(offset), at);
    else table.writeUInt32BE(offset, at);
  }
};

/**
 * Changes the offsets of chunks in `moov`, which are from the start of the file. Throws an `Mp4Error` for offsets that
 * it cannot correct.
 */
export const moveChunks = (parent: Buffer, type: string, move: Move): void => {
  for (let at = parseHead(parent, 0, 0, parent.length).headBytes; at < parent.length; ) {
    const { type: child, size, headBytes } = parseHead(parent, at, at, parent.length);
    if (UNSUPPORTED.includes(child)) throw new Mp4Error("The MP4 has fragments or is encrypted.");
    if (PARENTS[type]?.includes(child)) {
      const bytes = parent.subarray(at, at + size);
      if (type === "stbl") moveTable(bytes.subarray(headBytes), child === "co64", move);
      else moveChunks(bytes, child, move);
    }
    at += size;
  }
};
