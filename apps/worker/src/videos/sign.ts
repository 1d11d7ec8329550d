/** Marks a generated video as such: writes a signed C2PA manifest into the MP4. */
import { createHash, type Hash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import type { VideoSigner } from "@realtime-avatar/runtime/config/video-signer";
import { writeAll } from "@realtime-avatar/storage/disk/files";
import { version } from "../../package.json";
import { manifestSize, signedManifest } from "./c2pa/manifest.ts";
import { type Mp4Box, readAll, readTopBoxes, shiftChunks } from "./mp4-boxes.ts";

const GENERATOR = { name: "Realtime Avatar Service", version };
const CHUNK_BYTES = 1024 * 1024;

/** The certificate was not valid at the time of the video. The operator must replace it. */
export class CertificateExpired extends Error {
  override readonly name = "CertificateExpired";
}

export type SignVideo = {
  path: string;
  /** Path of the signed file, which must not exist; the file itself when it is left out. */
  to?: string;
  /** Shown by readers of the manifest. It must not be personal. */
  title?: string;
  signer: VideoSigner;
  createdAt: Date;
  signal?: AbortSignal;
};

/** Adds what C2PA hashes of a box: its offset in the signed file, and then its bytes. */
const hashOffset = (hash: Hash, offset: number): void => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(offset));
  hash.update(bytes);
};

type Copy = { source: FileHandle; target: FileHandle; inserted: number; signal: AbortSignal | undefined };

/** Copies boxes behind the manifest, with the offsets that the manifest moves. Returns the hash of the signed file. */
const copyBoxes = async (boxes: readonly Mp4Box[], from: number, copy: Copy): Promise<Buffer> => {
  const { source, target, inserted, signal } = copy;
  const hash = createHash("sha256");
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (const { type, start, size } of boxes) {
    hashOffset(hash, start + inserted);
    for (let done = 0; done < size; ) {
      signal?.throwIfAborted();
      const bytes = type === "moov" ? Buffer.alloc(size) : buffer.subarray(0, Math.min(CHUNK_BYTES, size - done));
      await readAll(source, bytes, start + done);
      if (type === "moov") shiftChunks(bytes, type, { from, by: inserted });
      hash.update(bytes);
      await writeAll(target, bytes, start + inserted + done);
      done += bytes.length;
    }
  }
  return hash.digest();
};

const writeSigned = async (source: FileHandle, target: FileHandle, options: SignVideo): Promise<void> => {
  const { signer, createdAt, signal, title = null } = options;
  const [ftyp, ...boxes] = await readTopBoxes(source, (await source.stat()).size);
  const content = { createdAt, title, generator: GENERATOR };
  const inserted = manifestSize(content, signer);
  const from = ftyp?.size ?? 0;
  const head = Buffer.alloc(from);
  await readAll(source, head, 0);
  await writeAll(target, head, 0);
  const hash = await copyBoxes(boxes, from, { source, target, inserted, signal });
  const manifest = signedManifest({ ...content, hash }, signer);
  if (manifest.length !== inserted) throw new Error("The size of a manifest depends on its hash or its signature.");
  await writeAll(target, manifest, from);
};

/**
 * Signs an MP4 of our encoders. The manifest is behind `ftyp`: what was before the media stays there, so the file plays as before
 * (and while it loads, when `moov` was first). Reads and writes 1 MiB at once. Same input, same bytes, but for the signature.
 *
 * On an error there is no new file, and `path` is as it was. Throws `CertificateExpired`; an `Mp4Error` for a file that has
 * fragments or a manifest, or is damaged; the reason of `signal`; and errors of the disk.
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
