/** The store on any S3. Errors of the requests are in `client.ts`. */
import { createHash } from "node:crypto";
import {
  checkContentType,
  checkCopy,
  checkExpiry,
  checkKey,
  checkPrefix,
  checkRange,
  checkUpload,
  type Source,
  type Storage,
  StorageError,
  type StoredFile,
} from "../storage.ts";
import { type Call, createS3Client, readReply, type S3Client, unexpected } from "./client.ts";
import type { S3Config } from "./signer.ts";
import { downloadBody, drainEmpty, uploadBody } from "./streams.ts";
import { isCopyResult, parseListing } from "./xml.ts";

/** The maximum number of keys that S3 returns at once. */
const PAGE = 1000;
/** The store copies a file before it responds. */
const COPY_IDLE_MS = 300_000;

/** The size of a local file and its SHA-256 in hex. */
const hashFile = async (path: string): Promise<{ sizeBytes: number; sha256: string }> => {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of Bun.file(path).stream()) {
    hash.update(chunk);
    sizeBytes += chunk.byteLength;
  }
  return { sizeBytes, sha256: hash.digest("hex") };
};

/**
 * The parts of a call that depend on the source. A local file is hashed first: the store then verifies the bytes, over
 * plain HTTP as well, and the call can be retried. A stream can be read only once. TLS protects its bytes.
 */
const bodyOf = async (
  source: Source,
): Promise<Pick<Call, "body" | "canRepeat"> & { sizeBytes: number; bodySha256: string }> => {
  if ("path" in source) {
    const { sizeBytes, sha256 } = await hashFile(source.path);
    const body: Call["body"] = (watch) => uploadBody(Bun.file(source.path).stream(), sizeBytes, watch);
    return { sizeBytes, bodySha256: sha256, canRepeat: true, ...(sizeBytes > 0 ? { body } : {}) };
  }
  const { stream, sizeBytes } = source;
  if (sizeBytes === 0) await drainEmpty(stream);
  const body: Call["body"] = (watch) => uploadBody(stream, sizeBytes, watch);
  return { sizeBytes, bodySha256: "UNSIGNED-PAYLOAD", canRepeat: false, ...(sizeBytes > 0 ? { body } : {}) };
};

const put = async (client: S3Client, key: string, source: Source, contentType: string): Promise<void> => {
  checkKey(key);
  checkContentType(contentType);
  const { sizeBytes, ...body } = await bodyOf(source);
  const headers = { "content-type": contentType, "content-length": String(sizeBytes) };
  const reply = await client.exchange({ method: "PUT", key, headers, ...body });
  if (reply.status !== 200) throw unexpected(reply);
};

const open = async (
  client: S3Client,
  ...[key, range, signal]: Parameters<Storage["open"]>
): ReturnType<Storage["open"]> => {
  checkKey(key);
  checkRange(range);
  const headers = range ? { range: `bytes=${range.start}-${range.end}` } : {};
  const call: Call = { method: "GET", key, headers, canRepeat: true, ...(signal && { signal }) };
  return client.send(call, async (response, watch) => {
    const size = range ? response.headers.get("content-range")?.split("/")[1] : response.headers.get("content-length");
    if (response.status === (range ? 206 : 200) && response.body && /^\d+$/.test(size ?? ""))
      return { stream: downloadBody(response.body, watch), sizeBytes: Number(size) };
    const reply = await readReply(response, watch);
    if (reply.status === 404 && reply.code === "NoSuchKey") return null;
    if (reply.status === 416) throw new StorageError("range", "The range begins behind the last byte.");
    throw unexpected(reply);
  });
};

const stat = async (client: S3Client, key: string): ReturnType<Storage["stat"]> => {
  checkKey(key);
  const reply = await client.exchange({ method: "HEAD", key, canRepeat: true });
  // The response to a HEAD has no code, so a missing bucket looks the same as a missing file.
  if (reply.status === 404) return null;
  if (reply.status !== 200) throw unexpected(reply);
  return {
    sizeBytes: Number(reply.headers.get("content-length")),
    contentType: reply.headers.get("content-type") ?? "",
    modifiedAt: new Date(reply.headers.get("last-modified") ?? ""),
  };
};

const copy = async (
  client: S3Client,
  { bucket, prefix }: S3Config,
  from: string,
  to: string,
): ReturnType<Storage["copy"]> => {
  checkCopy(from, to);
  const headers = { "x-amz-copy-source": `/${bucket}/${prefix}${from}` };
  const reply = await client.exchange({ method: "PUT", key: to, headers, canRepeat: true, idleMs: COPY_IDLE_MS });
  if (reply.status === 404 && reply.code === "NoSuchKey") return "missing";
  if (reply.status !== 200 || !isCopyResult(reply.text)) throw unexpected(reply);
  return "copied";
};

async function* list(
  client: S3Client,
  ownPrefix: string,
  prefix: string,
  after: string | null,
  limit: number,
): AsyncGenerator<StoredFile> {
  let left = limit;
  let token: string | null = null;
  while (left > 0) {
    const query: Record<string, string> = {
      "list-type": "2",
      "encoding-type": "url",
      prefix: `${ownPrefix}${prefix}`,
      "max-keys": String(Math.min(PAGE, left)),
      ...(token !== null
        ? { "continuation-token": token }
        : after !== null
          ? { "start-after": `${ownPrefix}${after}` }
          : {}),
    };
    const reply = await client.exchange({ method: "GET", key: null, query, canRepeat: true });
    if (reply.status !== 200) throw unexpected(reply);
    const { files, next } = parseListing(reply.text, ownPrefix);
    yield* files.slice(0, left);
    left -= files.length;
    if (next === null) return;
    token = next;
  }
}

/** Opens the store in an existing bucket. Sends no request. */
export const openS3 = (config: S3Config, now: () => Date, client: S3Client = createS3Client(config)): Storage => ({
  put: (key, source, contentType) => put(client, key, source, contentType),
  open: (...file) => open(client, ...file),
  stat: (key) => stat(client, key),
  copy: (from, to) => copy(client, config, from, to),
  delete: async (key) => {
    checkKey(key);
    const reply = await client.exchange({ method: "DELETE", key, canRepeat: true });
    if (reply.status !== 204 && reply.status !== 200 && reply.code !== "NoSuchKey") throw unexpected(reply);
  },
  list: (prefix, after, limit = Number.POSITIVE_INFINITY) => {
    checkPrefix(prefix);
    if (after !== undefined) checkKey(after);
    return list(client, config.prefix, prefix, after ?? null, limit);
  },
  // A PUT that is cut off leaves no file in an S3.
  sweepTemporary: async () => 0,
  signPut: async (key, upload) => {
    const at = now();
    checkKey(key);
    checkUpload(upload, at);
    const headers = { "Content-Type": upload.contentType, "Content-MD5": upload.md5 };
    const signed = { ...headers, "Content-Length": String(upload.sizeBytes) };
    return { url: await client.presign({ method: "PUT", key, headers: signed }, at, upload.expiresAt), headers };
  },
  signGet: async (key, expiresAt) => {
    const at = now();
    checkKey(key);
    checkExpiry(expiresAt, at);
    return client.presign({ method: "GET", key, headers: {} }, at, expiresAt);
  },
  served: null,
  close: async () => client.close(),
});
