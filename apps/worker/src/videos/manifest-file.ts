/** The manifest of a prepared avatar, as the worker reads it. */
import type { Storage } from "@realtime-avatar/storage/storage";

/** A manifest with a mesh has 5 KB. */
const MAX_MANIFEST_BYTES = 64 * 1024;

/** The manifest at `key`; null when the file does not exist, is too large or is not a JSON object. */
export const readManifestFile = async (
  storage: Pick<Storage, "open">,
  key: string,
  signal: AbortSignal,
): Promise<Record<string, unknown> | null> => {
  const stored = await storage.open(key, undefined, signal);
  if (stored === null) return null;
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of stored.stream) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > MAX_MANIFEST_BYTES) return null;
    chunks.push(chunk);
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
};
