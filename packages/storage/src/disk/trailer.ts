/**
 * The trailer of a stored file: its last 256 bytes, which contain its size and content type. They are a part of the
 * file, so one rename replaces the bytes and the content type together. A second file for them could be left over from
 * another version after a crash.
 */
import type { FileHandle } from "node:fs/promises";
import { StorageError } from "../storage.ts";
import { writeAll } from "./files.ts";
import { readBytes } from "./read.ts";

export const TRAILER_BYTES = 256;

type Trailer = { format: 1; contentType: string; sizeBytes: number };

export const writeTrailer = (file: FileHandle, contentType: string, sizeBytes: number): Promise<void> => {
  const trailer: Trailer = { format: 1, contentType, sizeBytes };
  const text = `\n${JSON.stringify(trailer)}`.padEnd(TRAILER_BYTES - 1).concat("\n");
  return writeAll(file, Buffer.from(text, "latin1"), sizeBytes);
};

/** The trailer of a file by its descriptor. Throws when the file was cut, or was not written by this store. */
export const readTrailer = async (descriptor: number, fileBytes: number): Promise<Trailer> => {
  const sizeBytes = fileBytes - TRAILER_BYTES;
  try {
    const bytes = await readBytes(descriptor, Math.max(sizeBytes, 0), TRAILER_BYTES);
    const trailer = JSON.parse(bytes.toString("latin1")) as Trailer | null;
    if (trailer?.format === 1 && trailer.sizeBytes === sizeBytes) return trailer;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new StorageError("damaged", "A stored file has been cut or changed.");
};
