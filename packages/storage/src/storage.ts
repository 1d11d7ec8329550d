/** The storage of asset files: the interface of both drivers, disk and S3. */

/** A local file, which is read from its path, or a stream of `sizeBytes` bytes. */
export type Source = { path: string } | { stream: ReadableStream<Uint8Array>; sizeBytes: number };

/** Inclusive offsets of bytes. An `end` past the last byte is the last byte. */
export type Range = { start: number; end: number };

export type StoredFile = { key: string; sizeBytes: number; modifiedAt: Date };

/** The upload of a client: the signature of the URL binds all fields. `md5` is in base64, as in `Content-MD5`. */
export type Upload = { contentType: string; sizeBytes: number; md5: string; expiresAt: Date };

/** The fields bound by a verified URL. */
export type SignedUpload = Upload & { key: string };
export type SignedFile = { key: string; expiresAt: Date };

/**
 * A store of files by key. The service makes the keys: segments of `[A-Za-z0-9_-]`, joined by "/", at most 200
 * characters in all. Any other key causes a TypeError. So does a content type that is not `type/subtype` in lower case.
 * A failure of the store is a `StorageError`.
 */
export type Storage = {
  /**
   * Stores a whole file, in place of any that has the key. It is durable when this resolves. When this rejects, the
   * previous file is unchanged.
   */
  put(key: string, source: Source, contentType: string): Promise<void>;
  /**
   * Opens a file, or a range of it; null when no file exists. `sizeBytes` is the size of the whole file. The stream keeps
   * delivering the same bytes when the file is overwritten or deleted meanwhile. Read it to its end or cancel it. `signal`
   * ends a request to the store, with its connection.
   */
  open(
    key: string,
    range?: Range,
    signal?: AbortSignal,
  ): Promise<{ stream: ReadableStream<Uint8Array>; sizeBytes: number } | null>;
  stat(key: string): Promise<{ sizeBytes: number; contentType: string; modifiedAt: Date } | null>;
  /** Copies a file within the store. The copy gets a new time of modification. */
  copy(from: string, to: string): Promise<"copied" | "missing">;
  /** Deletes a file. A missing file is no error. */
  delete(key: string): Promise<void>;
  /**
   * The files whose keys begin with `prefix`, each once, in the order of the store, which differs between the drivers.
   * Begins behind the key `after`, and ends after `limit` files. A file that is written meanwhile may be missing.
   */
  list(prefix: string, after?: string, limit?: number): AsyncIterable<StoredFile>;
  /** Removes the temporary files of interrupted writes that were last written before `before`. Returns their number. */
  sweepTemporary(before: Date): Promise<number>;
  /** A URL to which a client can PUT exactly these bytes. The client must send `headers` and a `Content-Length`. */
  signPut(key: string, upload: Upload): Promise<{ url: string; headers: Record<string, string> }>;
  /** A URL from which a client can GET the file. */
  signGet(key: string, expiresAt: Date): Promise<string>;
  /** Serves the signed URLs where they lead to the service itself; null where they lead to the store. */
  served: ServedUrls | null;
  /** Ends the requests to the store that are under way. */
  close(): Promise<void>;
};

/** For the routes that serve signed URLs. A token is the last segment of such a URL. */
export type ServedUrls = {
  /** Verifies a PUT before its body is read. */
  verifyPut(token: string, headers: Headers, now: Date): VerifiedPut;
  verifyGet(token: string, now: Date): VerifiedGet;
  /**
   * Stores the body of a verified PUT if it has exactly the bytes that the signature binds. Otherwise stores no file.
   */
  receive(
    upload: SignedUpload,
    body: ReadableStream<Uint8Array>,
  ): Promise<{ kind: "stored" } | { kind: "refused"; reason: "size" | "md5" }>;
};

export type VerifiedPut =
  | { kind: "valid"; upload: SignedUpload }
  | { kind: "refused"; reason: "signature" | "expired" | "content_type" | "size" | "md5" };
export type VerifiedGet = { kind: "valid"; file: SignedFile } | { kind: "refused"; reason: "signature" | "expired" };

/**
 * - `full`: the disk has no room.
 * - `size`: a stream had more or fewer bytes than its declared size.
 * - `range`: the range begins behind the last byte.
 * - `unavailable`: the store did not respond in time, or responded with an error.
 * - `damaged`: the stored file has changed since it was written.
 */
export type StorageFailure = "full" | "size" | "range" | "unavailable" | "damaged";

/** The one error of a store. Its message contains no key, credentials, signed URL or text of the store. */
export class StorageError extends Error {
  readonly reason: StorageFailure;
  constructor(reason: StorageFailure, message: string) {
    super(message);
    this.name = "StorageError";
    this.reason = reason;
  }
}

const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/;
const PREFIX = /^([A-Za-z0-9_-]+\/)*[A-Za-z0-9_-]*$/;
/** A file name may have 255 bytes, so this leaves room for a suffix. */
const MAX_KEY_LENGTH = 200;
const CONTENT_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;

/** Throws a TypeError unless the text is a key. */
export const checkKey = (key: string): void => {
  if (key.length > MAX_KEY_LENGTH || !KEY.test(key)) throw new TypeError("The key of a stored file is malformed.");
};

export const isKey = (key: string): boolean => key.length <= MAX_KEY_LENGTH && KEY.test(key);

export const checkPrefix = (prefix: string): void => {
  if (prefix.length > MAX_KEY_LENGTH || !PREFIX.test(prefix)) throw new TypeError("The prefix of keys is malformed.");
};

export const checkContentType = (contentType: string): void => {
  if (!CONTENT_TYPE.test(contentType)) throw new TypeError("The content type is not type/subtype in lower case.");
};

/** S3 refuses a longer time. */
const MAX_URL_SECONDS = 7 * 86_400;

/** Throws a TypeError unless the expiry of a signed URL is at least a second and at most a week from now. */
export const checkExpiry = (expiresAt: Date, now: Date): void => {
  const seconds = (expiresAt.getTime() - now.getTime()) / 1000;
  if (!(seconds >= 1 && seconds <= MAX_URL_SECONDS)) throw new TypeError("A signed URL lives from a second to a week.");
};

/** Throws a TypeError unless the upload can be signed now. */
export const checkUpload = ({ contentType, sizeBytes, md5, expiresAt }: Upload, now: Date): void => {
  checkExpiry(expiresAt, now);
  checkContentType(contentType);
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) throw new TypeError("The size is not a number of bytes.");
  // 16 bytes have exactly one form in base64: the unused bits of the last digit are zero.
  if (!/^[A-Za-z0-9+/]{21}[AQgw]==$/.test(md5)) throw new TypeError("The MD5 is not 16 bytes in base64.");
};

/** Throws a TypeError unless both are keys and differ, because S3 refuses to copy a file onto itself. */
export const checkCopy = (from: string, to: string): void => {
  checkKey(from);
  checkKey(to);
  if (from === to) throw new TypeError("A file cannot be copied onto itself.");
};

/** Throws a TypeError unless the range is absent or has two offsets in order. */
export const checkRange = (range: Range | undefined): void => {
  if (!range) return;
  const { start, end } = range;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start)
    throw new TypeError("The range is malformed.");
};

/** The inclusive end of the range within a file of this size. Throws when the range begins behind the last byte. */
export const endOfRange = ({ start, end }: Range, sizeBytes: number): number => {
  if (start >= sizeBytes) throw new StorageError("range", "The range begins behind the last byte.");
  return Math.min(end, sizeBytes - 1);
};
