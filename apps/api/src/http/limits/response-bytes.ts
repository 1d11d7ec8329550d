/**
 * Limits the bytes of responses that wait to be sent. A body stays in memory until its client has read it, so slow
 * clients could fill the memory. Large bodies are therefore counted, per process and per tenant, and sent in pieces,
 * each after the connection has accepted the previous one. The connection of a client that reads nothing for
 * `stalledMs` is closed. Bytes in the buffers of the operating system count as sent.
 */
import { Problem } from "@realtime-avatar/domain/problem";
import type { ResponseHead } from "../response.ts";

/**
 * Length, in UTF-16 units, up to which a text is sent as a string; longer texts are sent as a stream. Bun sends a string
 * that does not fit into its buffer of 16 KiB, and each part of each header before it, by a separate system call: about 27
 * calls and 130 us for a page of avatars. A stream takes one call, with the same headers, including `Content-Length`.
 */
const WHOLE_LENGTH = 12 * 1024;
/** Size up to which a body is sent as one piece and not counted. */
const PIECE_BYTES = 64 * 1024;
/** How many buffers and strings hold a copy of each byte of a body, from the database to the response. */
const COPIES = 3;
/**
 * Number of copied bytes after which the service runs the garbage collector. By itself, the collector runs later: 16
 * readers of the largest pages brought a new process to 250 MiB, and with this limit to 205 MiB.
 */
const COLLECTED_BYTES = 32 * 1024 * 1024;
/** Length of a piece of a larger body, in UTF-16 units. */
const PIECE_LENGTH = 32 * 1024;

export type ResponseBytesOptions = {
  /** Maximum number of waiting bytes in the process; above it, requests get 503. */
  maxBytes?: number;
  /** Maximum number of waiting bytes for the clients of one tenant. */
  maxBytesPerTenant?: number;
  /** Milliseconds after which a connection that accepts nothing is closed. */
  stalledMs?: number;
};

export type ResponseBytes = {
  /**
   * Sends a JSON text, passed as consecutive parts, as the response to a request of the tenant. Throws the problem
   * `unavailable` when too many bytes wait to be sent.
   */
  send(parts: readonly string[], tenantId: string, request: Request, set: ResponseHead): string | Response;
  /** The number of waiting bytes, without bodies of one piece. */
  waiting(): number;
};

/** Waits until the connection has accepted a piece. Throws when it accepts nothing for `stalledMs`. */
const accepted = async (piece: Promise<unknown>, stalledMs: number): Promise<void> => {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the client reads nothing")), stalledMs);
  try {
    await Promise.race([piece, stalled]);
  } finally {
    clearTimeout(timer);
  }
};

/** The texts in pieces, split between characters. The pieces are not copied; each is encoded when it is sent. */
function* piecesOf(texts: readonly string[]): Generator<string> {
  for (const text of texts) {
    for (let at = 0; at < text.length; ) {
      const end = at + PIECE_LENGTH;
      const isWithinCharacter = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
      const next = isWithinCharacter ? end + 1 : end;
      yield text.slice(at, next);
      at = next;
    }
  }
}

/**
 * A stream of these texts that sends each piece after the connection has accepted the previous one. `done`: called
 * once, for every kind of end, also when the first piece is not read in time. An error resets the connection, so that
 * the client does not take a part for the whole.
 */
const streamOf = (parts: readonly string[], stalledMs: number, done: (() => void) | null) => {
  let isDone = done === null;
  const end = (): void => {
    clearTimeout(unread);
    if (!isDone) done?.();
    isDone = true;
  };
  const unread = done === null ? undefined : setTimeout(end, stalledMs).unref();
  const source: Bun.DirectUnderlyingSource = {
    // Bun's own type of stream: it reports when the connection accepts no more, and has the lowest cost per response.
    type: "direct",
    async pull(controller) {
      clearTimeout(unread);
      try {
        for (const piece of piecesOf(parts)) {
          const result: unknown = controller.write(piece);
          if (result instanceof Promise) await accepted(result, stalledMs);
          // The client has disconnected.
          if (isDone && done !== null) return;
        }
        controller.close();
      } finally {
        end();
      }
    },
    cancel: end,
  };
  // Number of bytes that Bun buffers before it sends the first ones.
  return new ReadableStream(source, { highWaterMark: PIECE_BYTES });
};

/** Counts the waiting bytes of one process. */
export const createResponseBytes = (options: ResponseBytesOptions = {}): ResponseBytes => {
  const { maxBytes = 64 * 1024 * 1024, stalledMs = 10_000 } = options;
  const { maxBytesPerTenant = maxBytes / 4 } = options;
  let waiting = 0;
  let collectable = 0;
  const byTenant = new Map<string, number>();

  const add = (tenantId: string, bytes: number): void => {
    waiting += bytes;
    const ofTenant = (byTenant.get(tenantId) ?? 0) + bytes;
    if (ofTenant > 0) byTenant.set(tenantId, ofTenant);
    else byTenant.delete(tenantId);
  };

  /** A counted stream. Throws when the limit would be exceeded. */
  const countedStream = (parts: readonly string[], length: number, tenantId: string): ReadableStream => {
    if (waiting + length > maxBytes || (byTenant.get(tenantId) ?? 0) + length > maxBytesPerTenant) {
      const detail = "Too many bytes of responses wait to be read. Try again shortly.";
      throw new Problem("unavailable", detail, { retryable: true });
    }
    add(tenantId, length);
    return streamOf(parts, stalledMs, () => {
      add(tenantId, -length);
      collectable += COPIES * length;
      if (collectable < COLLECTED_BYTES) return;
      collectable = 0;
      Bun.gc(false);
    });
  };

  const send: ResponseBytes["send"] = (parts, tenantId, { method }, set) => {
    set.headers["content-type"] = "application/json";
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    if (length <= WHOLE_LENGTH || method === "HEAD") return parts.join("");
    const byteLength = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    const isOnePiece = byteLength <= PIECE_BYTES;
    const stream = isOnePiece
      ? streamOf([parts.join("")], stalledMs, null)
      : countedStream(parts, byteLength, tenantId);
    const headers = set.headers as Record<string, string>;
    // Empty, because Elysia would copy the response header by header to add the headers of `set`.
    set.headers = {};
    return new Response(stream, { headers });
  };
  return { send, waiting: () => waiting };
};
