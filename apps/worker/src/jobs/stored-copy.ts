/** The local copy of a stored file, which a job works on. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { MAGIC_BYTES } from "@realtime-avatar/domain/assets/magic";
import type { Storage } from "@realtime-avatar/storage/storage";

/** A local file. `sha256` is in hexadecimal. */
export type LocalFile = { kind: "file"; sizeBytes: number; sha256: string };

/** The error for the operator when a job cannot find the file of its asset. */
export const MISSING_FILE = "The store has no file of this asset. Do the API and the worker use one store?";

/** Copies a stored file to `path`, and hashes it; null when the store does not have it. */
export const copyStored = async (
  storage: Storage,
  key: string,
  path: string,
  signal: AbortSignal,
): Promise<LocalFile | null> => {
  const stored = await storage.open(key);
  if (stored === null) return null;
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const file = await open(path, "wx", 0o600);
  try {
    // Leaving the loop early cancels the stream.
    for await (const chunk of stored.stream) {
      signal.throwIfAborted();
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return { kind: "file", sizeBytes, sha256: hash.digest("hex") };
};

/** The first bytes of a file, which show its type. */
export const readFirstBytes = async (path: string): Promise<Uint8Array> =>
  Buffer.concat(await createReadStream(path, { end: MAGIC_BYTES - 1 }).toArray());
