/** Writes the prepared files to the store. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import {
  manifestId,
  PREPARED_TYPES,
  type PreparedType,
  preparedFile,
  preparedKey,
} from "@realtime-avatar/domain/avatars/preparation";
import type { Source, Storage } from "@realtime-avatar/storage/storage";
import { type ManifestContent, manifestText, type PreparedPicture } from "./manifest.ts";

/** A file to store. `source` is called once. */
type Content = { sizeBytes: number; sha256: string; source: () => Source };

/** A file on the local disk: a path. */
export const contentOfFile = async (path: string): Promise<Content> => {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return { sizeBytes: (await stat(path)).size, sha256: hash.digest("hex"), source: () => ({ path }) };
};

export const contentOfBytes = (bytes: Uint8Array): Content => ({
  sizeBytes: bytes.byteLength,
  sha256: createHash("sha256").update(bytes).digest("hex"),
  source: () => ({ stream: new Blob([Buffer.from(bytes)]).stream(), sizeBytes: bytes.byteLength }),
});

export type Written = {
  /** For the row of the avatar. */
  cacheManifestId: string;
  previewFile: string | null;
  /** The keys of all files, for their removal. */
  keys: string[];
};

/**
 * Writes the pictures and the idle loop, and then the manifest that names them. Returns when all are durable. The names are digests of
 * the content, so a file of another attempt can be replaced only by an equal one.
 */
export const writePrepared = async (
  storage: Storage,
  { avatar, ...content }: Omit<ManifestContent, "pictures" | "loop">,
  contents: (Record<"normalized" | "thumb" | "animated", Content> & { loop: Content | null }) | null,
): Promise<Written> => {
  const keys: string[] = [];
  const put = async (type: PreparedType, { sizeBytes, sha256, source }: Content): Promise<PreparedPicture> => {
    const file = preparedFile(avatar.generation, sha256, type);
    const key = preparedKey(avatar, file);
    const contentType = PREPARED_TYPES[type];
    await storage.put(key, source(), contentType);
    keys.push(key);
    return { file, contentType, sizeBytes, sha256 };
  };
  const pictures = contents && {
    normalized: await put("webp", contents.normalized),
    thumb: await put("webp", contents.thumb),
    animated: await put("webp", contents.animated),
  };
  const loop = contents?.loop ? await put("loop", contents.loop) : null;
  const text = manifestText({ avatar, ...content, pictures, loop });
  const manifest = await put("json", contentOfBytes(Buffer.from(text)));
  return {
    cacheManifestId: manifestId(avatar.generation, manifest.sha256),
    previewFile: pictures?.thumb.file ?? null,
    keys,
  };
};
