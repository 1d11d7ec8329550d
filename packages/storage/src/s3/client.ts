/** Signed requests to an S3: each has a deadline; repeatable requests are retried. */
import { StorageError } from "../storage.ts";
import { createSigner, type S3Config, type Signer } from "./signer.ts";
import { startWatch, type UploadBody, type Watch } from "./streams.ts";
import { parseErrorCode } from "./xml.ts";

export type Call = {
  method: "GET" | "HEAD" | "PUT" | "DELETE";
  /** null: the bucket itself. */
  key: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** Creates the body of one attempt. */
  body?: (watch: Watch) => UploadBody;
  /** In hex; the default is that of an empty body. */
  bodySha256?: string;
  /** Whether the call may be sent again after an unknown outcome. */
  canRepeat: boolean;
  /** How long the store may take for a step. */
  idleMs?: number;
  /** Ends the call. */
  signal?: AbortSignal;
};

export type Reply = { status: number; headers: Headers; text: string; code: string | null };

const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const IDLE_MS = 30_000;
const ATTEMPTS = 3;
const BACKOFF_MS = 100;
/** Transient statuses, 500 included, because Amazon's own clients repeat it. */
const TRANSIENT = new Set([429, 500, 502, 503, 504]);
/** An error document has a few hundred bytes, and a page of a list 500 KB. */
const MAX_TEXT_BYTES = 4 * 2 ** 20;

const readText = async (response: Response, watch: Watch): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    watch.progress();
    size += chunk.byteLength;
    if (size > MAX_TEXT_BYTES) throw new StorageError("unavailable", "The response of the store is too long.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

/** Reads the response to its end. */
export const readReply = async (response: Response, watch: Watch): Promise<Reply> => {
  const text = await readText(response, watch);
  watch.stop();
  const { status, headers } = response;
  return { status, headers, text, code: status >= 300 ? parseErrorCode(text) : null };
};

/** The error for a response that the caller does not expect. It contains the code of the store, and not its message. */
export const unexpected = ({ status, code }: Pick<Reply, "status" | "code">): StorageError =>
  new StorageError("unavailable", `The store responded with ${status}${code === null ? "" : ` (${code})`}.`);

type Attempt<Value> = { kind: "done"; value: Value } | { kind: "failed"; error: StorageError };

export type S3Client = {
  /** Sends a call. `consume` gets the response, except a transient one after which the call is sent again. */
  send<Value>(call: Call, consume: (response: Response, watch: Watch) => Promise<Value>): Promise<Value>;
  /** Sends a request and reads the response to its end. */
  exchange(call: Call): Promise<Reply>;
  presign: Signer["presign"];
  close(): void;
};

/** `idleMs` and `backoffMs` are set by tests alone. */
export const createS3Client = (
  config: S3Config,
  { idleMs = IDLE_MS, backoffMs = BACKOFF_MS }: { idleMs?: number; backoffMs?: number } = {},
): S3Client => {
  const closing = new AbortController();
  const signer = createSigner(config);

  const attempt = async <Value>(
    {
      method,
      key,
      query = {},
      headers = {},
      body,
      bodySha256 = EMPTY_SHA256,
      canRepeat,
      idleMs: ownIdleMs = idleMs,
      signal,
    }: Call,
    consume: (response: Response, watch: Watch) => Promise<Value>,
  ): Promise<Attempt<Value>> => {
    const watch = startWatch(ownIdleMs, signal ? [closing.signal, signal] : [closing.signal]);
    let upload: UploadBody | null = null;
    try {
      const signed = await signer.sign({ method, key, query, headers, bodySha256 });
      upload = body?.(watch) ?? null;
      const response = await fetch(signed.url, {
        method,
        headers: signed.headers,
        ...(upload ? { body: upload.stream } : {}),
        signal: watch.signal,
        // A redirect would take the credentials to another host.
        redirect: "manual",
        // Returns the stored bytes, without decoding by `Content-Encoding`.
        decompress: false,
        // A pooled connection fails when the store closes it at the same time. Requests that cannot be retried use a
        // new connection.
        keepalive: canRepeat,
      });
      if (!TRANSIENT.has(response.status)) return { kind: "done", value: await consume(response, watch) };
      return { kind: "failed", error: unexpected(await readReply(response, watch)) };
    } catch (error) {
      watch.stop();
      const failure = upload?.failure();
      if (failure) throw failure.error;
      if (error instanceof StorageError) throw error;
      // The message of the runtime contains the URL.
      return { kind: "failed", error: new StorageError("unavailable", "The store did not respond.") };
    }
  };

  const send: S3Client["send"] = async (call, consume) => {
    for (let count = 1; ; count++) {
      const result = await attempt(call, consume);
      if (result.kind === "done") return result.value;
      const isOver = closing.signal.aborted || call.signal?.aborted;
      if (!call.canRepeat || count === ATTEMPTS || isOver) throw result.error;
      // Full jitter, so that replicas do not retry together.
      await Bun.sleep(Math.random() * backoffMs * 2 ** count);
    }
  };

  return {
    send,
    exchange: (call) => send(call, readReply),
    presign: signer.presign,
    close: () => closing.abort(),
  };
};
