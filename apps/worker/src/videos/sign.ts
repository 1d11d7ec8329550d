/** Marks a generated video, or a recording, as such: writes a signed C2PA manifest into the MP4. */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { VideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { writeAll } from "@realtime-avatar/storage/disk/files";
import { version } from "../../package.json";
import { GENERATED_VIDEO, type MediaSource, manifestSize, signedManifest } from "./c2pa/manifest.ts";
import { type Mp4Box, moveChunks, readAll, readTopBoxes } from "./mp4-boxes.ts";

const GENERATOR = { name: "Realtime Avatar Service", version };
const CHUNK_BYTES = 1024 * 1024;

/** The certificate was not valid at the time of the video. The operator must replace it. */
export class CertificateExpired extends Error {
  override readonly name = "CertificateExpired";
}

export type SignVideo = {
  path: string;
  /** Path of the signed file, which must not exist; the file itself when omitted. */
  to?: string;
  /** The title that readers of the manifest show. It must not be personal. */
  title?: string;
  /** By default, the source of a generated video. */
  source?: MediaSource;
  signer: VideoSigner;
  createdAt: Date;
  signal?: AbortSignal;
};

const isMovie = ({ type }: Mp4Box): boolean => type === "moov";

/** Adds the offset of a box in the signed file to the hash. C2PA hashes this before the bytes of the box. */
const hashOffset = (hash: Hash, offset: number): void => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(offset));
  hash.update(bytes);
};

type Copy = {
  source: FileHandle;
  target: FileHandle;
  /** The offset of the first box in the signed file. */
  to: number;
  /** Converts an offset in the original file to the offset in the signed one. */
  move: (offset: number) => number;
  signal: AbortSignal | undefined;
};

/** Copies boxes one after the other, and corrects the offsets of chunks. Returns the hash of the signed file. */
const copyBoxes = async (boxes: readonly Mp4Box[], { source, target, to, move, signal }: Copy): Promise<Buffer> => {
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let at = to;
  for (const { type, start, size } of boxes) {
    hashOffset(hash, at);
    for (let done = 0; done < size; ) {
      signal?.throwIfAborted();
      const bytes = type === "moov" ? Buffer.alloc(size) : buffer.subarray(0, Math.min(CHUNK_BYTES, size - done));
      await readAll(source, bytes, start + done);
      if (type === "moov") moveChunks(bytes, type, move);
      hash.update(bytes);
      await writeAll(target, bytes, at);
      done += bytes.length;
      at += bytes.length;
    }
  }
  return hash.digest();
};

const writeSigned = async (source: FileHandle, target: FileHandle, options: SignVideo): Promise<void> => {
  const { signer, createdAt, signal, title = null, source: mediaSource = GENERATED_VIDEO } = options;
  const [ftyp, ...boxes] = await readTopBoxes(source, (await source.stat()).size);
  const content = { createdAt, title, generator: GENERATOR, source: mediaSource };
  const inserted = manifestSize(content, signer);
  const from = ftyp?.size ?? 0;
  const head = Buffer.alloc(from);
  await readAll(source, head, 0);
  await writeAll(target, head, 0);
  const [movies, others] = [boxes.filter(isMovie), boxes.filter((box) => !isMovie(box))];
  const [movie] = movies;
  const move = (offset: number): number => {
    if (offset < from) return offset;
    return offset + inserted + (movie !== undefined && offset < movie.start ? movie.size : 0);
  };
  const hash = await copyBoxes([...movies, ...others], { source, target, to: from + inserted, move, signal });
  const manifest = signedManifest({ ...content, hash }, signer);
  if (manifest.length !== inserted) throw new Error("The size of a manifest depends on its hash or its signature.");
  await writeAll(target, manifest, from);
};

/**
 * Signs an MP4 of our encoders. The manifest comes after `ftyp`, and `moov` after the manifest, so that the file plays
 * while it loads. Reads and writes 1 MiB at a time. Equal inputs give equal bytes, except the signature.
 *
 * On an error no new file exists, and `path` is unchanged. Throws `CertificateExpired`; an `Mp4Error` for a file that
 * has fragments or a manifest, or is damaged; the reason of `signal`; and errors of the disk.
 */
export const signVideo = async (options: SignVideo): Promise<void> => {
  const { path, to, signer, createdAt } = options;
  if (createdAt < signer.validFrom || createdAt > signer.validTo) {
    throw new CertificateExpired("The certificate of C2PA_CERTIFICATE is not valid at the time of the video.");
  }
  const written = to ?? `${path}.signed`;
  const source = await open(path, "r");
  try {
    const target = await open(written, "wx", 0o600);
    try {
      await writeSigned(source, target, options).finally(() => target.close());
      if (to === undefined) await rename(written, path);
    } catch (error) {
      await rm(written, { force: true });
      throw error;
    }
  } finally {
    await source.close();
  }
};
