/**
 * The store on a disk. Under its folder (mode 0700) are:
 * - `objects/<2 hex digits>/<key>`: the files (mode 0600), with a dot for each "/" of the key: keys contain no dots, so no key is a folder of another or is "..". The digits are those of the SHA-256 of the key, which spreads a
 *   million files over 256 folders of 4,000.
 * - `temporary`: files that are being written.
 * - `signing-secret`: the secret of the signed URLs, unless the configuration has one.
 */
import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, readdir, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Secret } from "../secret.ts";
import {
  checkContentType,
  checkCopy,
  checkExpiry,
  checkKey,
  checkPrefix,
  checkRange,
  checkUpload,
  endOfRange,
  isKey,
  type Range,
  type Source,
  type Storage,
  StorageError,
  type StoredFile,
} from "../storage.ts";
import {
  createFolder,
  diskError,
  replaceFile,
  SourceFailure,
  syncFolder,
  unlessMissing,
  writeAll,
  writeOnce,
} from "./files.ts";
import { closeDescriptor, openDescriptor, readFrom, statDescriptor } from "./read.ts";
import {
  DOWNLOAD_PATH,
  signGetToken,
  signPutToken,
  UPLOAD_PATH,
  verifyGetToken,
  verifyPutToken,
} from "./signed-url.ts";
import { readTrailer, TRAILER_BYTES, writeTrailer } from "./trailer.ts";

export type DiskConfig = {
  kind: "disk";
  directory: string;
  /** Signs the URLs; null: a random secret in the folder. */
  signingSecret: Secret | null;
};

/** The folders of `objects`, in the order of `list`. */
const FOLDERS = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, "0"));
const folderOf = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 2);
const nameOf = (key: string): string => key.replaceAll("/", ".");

/** A file with a shorter secret is damaged: the service writes longer ones. */
const MIN_SECRET_LENGTH = 32;

const readSecret = async (directory: string, temporary: string): Promise<Secret> => {
  const random = `${randomBytes(32).toString("base64url")}\n`;
  const text = (await writeOnce(temporary, join(directory, "signing-secret"), random)).trim();
  if (text.length < MIN_SECRET_LENGTH) throw new StorageError("damaged", "The file signing-secret is too short.");
  return new Secret(text);
};

async function* markFailures(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw new SourceFailure(error);
  }
}

type Written = { kind: "written" } | { kind: "wrong_size" } | { kind: "wrong_digest" };

/** Writes a stream of exactly `sizeBytes`. Stops at the first excess byte. Compares the bytes with `digest`. */
const writeStream = async (
  file: FileHandle,
  { stream, sizeBytes }: { stream: ReadableStream<Uint8Array>; sizeBytes: number },
  digest: { update(bytes: Uint8Array): void; isRight(): boolean } | null,
): Promise<Written> => {
  let offset = 0;
  // Leaving the loop early cancels the stream.
  for await (const chunk of markFailures(stream)) {
    if (offset + chunk.byteLength > sizeBytes) return { kind: "wrong_size" };
    digest?.update(chunk);
    await writeAll(file, chunk, offset);
    offset += chunk.byteLength;
  }
  if (offset !== sizeBytes) return { kind: "wrong_size" };
  return digest?.isRight() === false ? { kind: "wrong_digest" } : { kind: "written" };
};

const md5Check = (md5: string) => {
  const hash = createHash("md5");
  return { update: (bytes: Uint8Array) => void hash.update(bytes), isRight: () => hash.digest("base64") === md5 };
};

/** The files of a directory, and how they are written. `withErrors` turns failures of the system into `StorageError`. */
const createFiles = (directory: string) => {
  const objects = join(directory, "objects");
  const temporary = join(directory, "temporary");
  const placeOf = (key: string) => ({ folder: join(objects, folderOf(key)), name: nameOf(key) });
  const pathOf = (key: string): string => {
    checkKey(key);
    const { folder, name } = placeOf(key);
    return join(folder, name);
  };
  const withErrors = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      throw diskError(error);
    }
  };

  const store = async (key: string, contentType: string, source: Source, md5: string | null): Promise<Written> => {
    checkKey(key);
    checkContentType(contentType);
    return withErrors(() =>
      replaceFile(temporary, placeOf(key), "path" in source ? source.path : null, async (file) => {
        const result: Written =
          "path" in source ? { kind: "written" } : await writeStream(file, source, md5 === null ? null : md5Check(md5));
        const keep = result.kind === "written";
        if (keep) await writeTrailer(file, contentType, "path" in source ? (await file.stat()).size : source.sizeBytes);
        return { keep, result };
      }),
    );
  };

  /** The file of a key with its size and content type; null when no file exists. The caller closes it. */
  const openFile = async (key: string) => {
    const descriptor = await unlessMissing(openDescriptor(pathOf(key), "r"));
    if (descriptor === null) return null;
    try {
      const { size, mtime } = await statDescriptor(descriptor);
      const { contentType, sizeBytes } = await readTrailer(descriptor, size);
      return { descriptor, contentType, sizeBytes, modifiedAt: mtime };
    } catch (error) {
      await closeDescriptor(descriptor);
      throw error;
    }
  };
  return { objects, temporary, placeOf, pathOf, withErrors, store, openFile };
};

type Files = ReturnType<typeof createFiles>;

const openRange = ({ openFile, withErrors }: Files, key: string, range?: Range) =>
  withErrors(async () => {
    checkRange(range);
    const found = await openFile(key);
    if (found === null) return null;
    const { descriptor, sizeBytes } = found;
    try {
      const end = range ? endOfRange(range, sizeBytes) : sizeBytes - 1;
      return { stream: readFrom(descriptor, range?.start ?? 0, end), sizeBytes };
    } catch (error) {
      await closeDescriptor(descriptor);
      throw error;
    }
  });

async function* list(
  { objects }: Files,
  prefix: string,
  after: string | null,
  limit: number,
): AsyncGenerator<StoredFile> {
  let left = limit;
  const start = after === null ? { folder: "", name: "" } : { folder: folderOf(after), name: nameOf(after) };
  for (const folder of FOLDERS) {
    if (folder < start.folder) continue;
    const names = (await readdir(join(objects, folder))).filter((name) => name.startsWith(nameOf(prefix))).sort();
    for (const name of names) {
      if (left === 0) return;
      const key = name.replaceAll(".", "/");
      if ((folder === start.folder && name <= start.name) || !isKey(key)) continue;
      const found = await unlessMissing(stat(join(objects, folder, name)));
      if (found === null) continue;
      left--;
      yield { key, sizeBytes: found.size - TRAILER_BYTES, modifiedAt: found.mtime };
    }
  }
}

async function* withDiskErrors(files: AsyncGenerator<StoredFile>): AsyncGenerator<StoredFile> {
  try {
    yield* files;
  } catch (error) {
    throw diskError(error);
  }
}

const sweep = async (temporary: string, before: Date): Promise<number> => {
  let count = 0;
  for (const name of await readdir(temporary)) {
    const path = join(temporary, name);
    const found = await unlessMissing(stat(path));
    if (found === null || found.mtime >= before) continue;
    await rm(path, { force: true });
    count++;
  }
  return count;
};

/** Opens the store in a folder, which it creates. `origin` returns the origin of the service, for the signed URLs. */
export const openDisk = async (
  { directory, signingSecret }: DiskConfig,
  { origin, now }: { origin: () => string; now: () => Date },
): Promise<Storage> => {
  const files = createFiles(directory);
  const { objects, temporary, placeOf, pathOf, withErrors, store, openFile } = files;
  await withErrors(async () => {
    await createFolder(directory, 0o700);
    for (const folder of [temporary, ...FOLDERS.map((name) => join(objects, name))])
      await mkdir(folder, { recursive: true, mode: 0o700 });
  });
  const secret = signingSecret ?? (await withErrors(() => readSecret(directory, temporary)));
  await withErrors(async () => {
    await syncFolder(objects);
    await syncFolder(directory);
  });
  return {
    put: async (key, source, contentType) => {
      const { kind } = await store(key, contentType, source, null);
      if (kind !== "written") throw new StorageError("size", "The stream does not have its declared size.");
    },
    open: (key, range) => openRange(files, key, range),
    stat: (key) =>
      withErrors(async () => {
        const found = await openFile(key);
        if (found === null) return null;
        const { descriptor, ...description } = found;
        await closeDescriptor(descriptor);
        return description;
      }),
    copy: (from, to) =>
      withErrors(async () => {
        checkCopy(from, to);
        // The trailer is copied with the bytes. The copy gets a new modification time.
        const fill = async (file: FileHandle) => {
          await file.utimes(new Date(), new Date());
          return { keep: true, result: null };
        };
        const copied = unlessMissing(
          replaceFile(temporary, placeOf(to), pathOf(from), fill).then(() => "copied" as const),
        );
        return (await copied) ?? "missing";
      }),
    delete: (key) =>
      withErrors(async () => {
        await unlessMissing(unlink(pathOf(key)));
        await syncFolder(placeOf(key).folder);
      }),
    list: (prefix, after, limit = Number.POSITIVE_INFINITY) => {
      checkPrefix(prefix);
      if (after !== undefined) checkKey(after);
      return withDiskErrors(list(files, prefix, after ?? null, limit));
    },
    sweepTemporary: (before) => withErrors(() => sweep(temporary, before)),
    signPut: async (key, upload) => {
      checkKey(key);
      checkUpload(upload, now());
      const headers = { "Content-Type": upload.contentType, "Content-MD5": upload.md5 };
      return { url: `${origin()}${UPLOAD_PATH}${signPutToken(secret, key, upload)}`, headers };
    },
    signGet: async (key, expiresAt) => {
      checkKey(key);
      checkExpiry(expiresAt, now());
      return `${origin()}${DOWNLOAD_PATH}${signGetToken(secret, key, expiresAt)}`;
    },
    served: {
      verifyPut: (token, headers, now) => verifyPutToken(secret, token, headers, now),
      verifyGet: (token, now) => verifyGetToken(secret, token, now),
      receive: async ({ key, contentType, sizeBytes, md5 }, stream) => {
        const { kind } = await store(key, contentType, { stream, sizeBytes }, md5);
        if (kind === "written") return { kind: "stored" };
        return { kind: "refused", reason: kind === "wrong_size" ? "size" : "md5" };
      },
    },
    close: async () => {},
  };
};
