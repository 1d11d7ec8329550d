/**
 * The idle loop of an avatar in the manifest of its preparation: `"loop": { "version": 1, "file": "…" }`. The file has the
 * frames of a film in which the person listens: see `encodeLoop` of packages/face. The first frame is the normalized image.
 */
import { readPreparedFile } from "./preparation.ts";

const VERSION = 1;

/** The member `loop` of a manifest. `file`: see `preparedFile`. */
export const manifestLoop = <Picture extends { file: string }>(picture: Picture) => ({ version: VERSION, ...picture });

/** The file of the idle loop that a manifest names; null without a loop, and for another version. */
export const loopFile = (manifest: Readonly<Record<string, unknown>> | null): string | null => {
  const { version, file } = (manifest?.["loop"] ?? {}) as { version?: unknown; file?: unknown };
  if (version !== VERSION || typeof file !== "string") return null;
  return readPreparedFile(file)?.type === "loop" ? file : null;
};
