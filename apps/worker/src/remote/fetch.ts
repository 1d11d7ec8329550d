/**
 * Fetches a file from a URL of a tenant, without giving the tenant access to hosts that only the worker can reach
 * (server-side request forgery). It allows only https to public addresses, checks each redirect like the first URL, and
 * bounds size and time.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { inMib } from "@realtime-avatar/domain/assets/limits";
import { type Refused, refused, type Unavailable, unavailable } from "./outcome.ts";
import { type Network, openTarget, PUBLIC_INTERNET } from "./request.ts";
import { parseTarget } from "./target.ts";

export type FetchOptions = {
  /** The path of the file to write. It must not exist. The file exists afterwards only if the outcome is `fetched`. */
  path: string;
  /** The largest file, in bytes. */
  maxBytes: number;
  signal?: AbortSignal;
  /** The longest time for the look-up and the connection with its TLS handshake, for each URL. */
  connectMs?: number;
  /** The maximum total time. */
  totalMs?: number;
  network?: Network;
};

type Body = { response: IncomingMessage; isCut: () => boolean };
export type Fetched = { kind: "fetched"; sizeBytes: number; sha256: string };

const MAX_REDIRECTS = 3;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Statuses that can change at a later request. */
const TEMPORARY = [408, 425, 429];

/** Reads status and headers: the redirect target, the outcome of a response without a usable body, or a body to read. */
const readHead = (
  response: IncomingMessage,
  maxBytes: number,
): { kind: "body" } | { kind: "redirect"; location: string } | Refused | Unavailable => {
  const { statusCode = 0, headers } = response;
  if (REDIRECTS.includes(statusCode) && headers.location !== undefined) {
    return { kind: "redirect", location: headers.location };
  }
  if (statusCode !== 200) {
    const detail = `The host responded with status ${statusCode} instead of 200.`;
    const isTemporary = statusCode >= 500 || TEMPORARY.includes(statusCode);
    return isTemporary ? unavailable("unexpected_status", detail) : refused("unexpected_status", detail);
  }
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding.trim().toLowerCase() !== "identity") {
    // A compressed body could expand to any size.
    return refused(
      "encoding_not_allowed",
      "The host sent the file compressed, although the request does not accept that.",
    );
  }
  const declared = Number(headers["content-length"] ?? 0);
  return declared > maxBytes ? tooLarge(maxBytes) : { kind: "body" };
};

const tooLarge = (maxBytes: number): Refused => refused("too_large", `The file is larger than ${inMib(maxBytes)}.`);

const lost = unavailable("connection_lost", "The connection was closed before the end of the file.");

/** Reads the body to `write`, and hashes it. */
const readBody = async (
  { response, isCut }: Body,
  maxBytes: number,
  aborted: Promise<null>,
  write: (chunk: Buffer) => Promise<void>,
): Promise<Fetched | Refused | Unavailable> => {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const chunks: AsyncIterator<Buffer> = response[Symbol.asyncIterator]();
  for (;;) {
    // Only a failed read is the origin's fault; a full disk is an error of the worker.
    const next = await Promise.race([chunks.next().catch(() => null), aborted]);
    if (next === null) return lost;
    if (next.done) break;
    sizeBytes += next.value.length;
    if (sizeBytes > maxBytes) return tooLarge(maxBytes);
    hash.update(next.value);
    await write(next.value);
  }
  // A body without a length ends with its connection. Bun reports `complete` even when the connection failed or was
  // aborted.
  if (!response.complete || isCut()) return lost;
  if (sizeBytes === 0) return refused("empty", "The host sent an empty file.");
  return { kind: "fetched", sizeBytes, sha256: hash.digest("hex") };
};

/** Writes the body to a new file at `path`, which is opened with its first bytes. */
const receive = async (
  body: Body,
  { path, maxBytes }: FetchOptions,
  aborted: Promise<null>,
): Promise<Fetched | Refused | Unavailable> => {
  let file: FileHandle | null = null;
  let isFetched = false;
  try {
    const outcome = await readBody(body, maxBytes, aborted, async (chunk) => {
      file ??= await open(path, "wx", 0o600);
      await file.writeFile(chunk);
    });
    isFetched = outcome.kind === "fetched";
    return outcome;
  } finally {
    await (file as FileHandle | null)?.close();
    if (file !== null && !isFetched) await rm(path, { force: true });
  }
};

/** Follows redirects to a body and receives it. */
const follow = async (
  url: string,
  options: FetchOptions,
  signal: AbortSignal,
  aborted: Promise<null>,
): Promise<Fetched | Refused | Unavailable> => {
  const { maxBytes, connectMs = 10_000, network = PUBLIC_INTERNET } = options;
  let [location, base]: [string, URL | null] = [url, null];
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const target = parseTarget(location, base, network.ports);
    if (target.kind !== "target") return target;
    const opened = await openTarget(target, network, connectMs, signal);
    if (opened.kind !== "response") return opened;
    const { response } = opened;
    try {
      const found = readHead(response, maxBytes);
      if (found.kind === "body") return await receive(opened, options, aborted);
      if (found.kind !== "redirect") return found;
      [location, base] = [found.location, target.url];
    } finally {
      // The rest of the body is not needed.
      response.destroy();
    }
  }
  return refused("too_many_redirects", `There are more than ${MAX_REDIRECTS} redirects.`);
};

/**
 * Writes the file at `url` to `options.path`. `refused` when the URL or the response breaks a rule; `unavailable` when a
 * later attempt can succeed. Throws only for errors of the local disk.
 */
export const fetchRemote = async (url: string, options: FetchOptions): Promise<Fetched | Refused | Unavailable> => {
  const { totalMs = 60_000 } = options;
  const end = new AbortController();
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const cancel = (): void => {
    end.abort();
    resolve(null);
  };
  const timer = setTimeout(cancel, totalMs);
  options.signal?.addEventListener("abort", cancel);
  if (options.signal?.aborted) cancel();
  try {
    const outcome = await follow(url, options, end.signal, aborted);
    // An aborted request looks like a lost connection.
    if (outcome.kind !== "unavailable" || !end.signal.aborted) return outcome;
    return options.signal?.aborted
      ? unavailable("canceled", "The request was canceled.")
      : unavailable("timed_out", `The file did not arrive within ${totalMs / 1000} s.`);
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", cancel);
  }
};
