/**
 * Bodies of responses that are being sent. A body waits in this process until its client has read it, so clients that
 * read slowly, or not at all, could fill its memory. Large bodies are therefore counted, for the process and for each
 * tenant, and sent in pieces, each when the connection has taken the one before. A client that takes nothing for a while
 * loses its connection. What the operating system has taken into its own buffers counts as sent.
 */
import { Problem } from "@realtime-avatar/domain/problem";
import type { ResponseHead } from "./request-context.ts";

/**
 * Longer texts are sent as a stream. Bun sends a string that does not fit into its buffer of 16 KiB, and each piece of
 * each header before it, by a system call of its own: some 27 calls and 130 us for a page of avatars. A stream takes one,
 * with the same headers, `Content-Length` among them.
 */
const WHOLE_LENGTH = 12 * 1024;
/** A body of at most so many bytes is sent as one piece, and not counted. */
const PIECE_BYTES = 64 * 1024;
/** Each byte of a body has been in so many buffers and strings on its way from the database. */
const COPIES = 3;
/**
 * After so many bytes of them the garbage collector is asked to run. By itself it lets them grow for longer: 16 readers of
 * the largest pages brought a fresh process to 250 MiB, and with this to 205 MiB.
 */
const COLLECTED_BYTES = 32 * 1024 * 1024;
/** UTF-16 units of a piece of a longer body. */
const PIECE_LENGTH = 32 * 1024;

export type ResponseBytesOptions = {
  /** Bytes that may wait in the process; beyond, requests get 503. */
  maxBytes?: number;
  /** Bytes that may wait for clients of one tenant. */
  maxBytesPerTenant?: number;
  /** A connection that takes nothing for so many milliseconds is closed. */
  stalledMs?: number;
};

export type ResponseBytes = {
  /**
   * The JSON text whose parts these are as the response to a request of the tenant. Throws the problem `unavailable` when
   * too many bytes wait to be sent.
   */
  send(parts: readonly string[], tenantId: string, request: Request, set: ResponseHead): string | Response;
  /** How many bytes wait to be sent, those of bodies of one piece left out. */
  waiting(): number;
};

/** Waits until the connection has taken a piece. Throws when it takes nothing for `stalledMs`. */
const taken = async (piece: Promise<unknown>, stalledMs: number): Promise<void> => {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the client does not read")), stalledMs);
  try {
    await Promise.race([piece, stalled]);
  } finally {
    clearTimeout(timer);
  }
};

/** Pieces of texts, none of which ends within a character. They are not copied: each is encoded when it is sent. */
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
 * A stream of these texts, whose next piece is given when the connection has taken the one before. `done` is called once,
 * however it ends; also when nothing asks for the first piece in time. An error resets the connection, so that the client
 * does not take a part for the whole.
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
    // Bun's own kind: it says when the connection takes no more, and has the least to do for each response.
    type: "direct",
    async pull(controller) {
      clearTimeout(unread);
      try {
        for (const piece of piecesOf(parts)) {
          const result: unknown = controller.write(piece);
          if (result instanceof Promise) await taken(result, stalledMs);
          // The client has hung up.
          if (isDone && done !== null) return;
        }
        controller.close();
      } finally {
        end();
      }
    },
    cancel: end,
  };
  // What Bun gathers before it sends the first bytes.
  return new ReadableStream(source, { highWaterMark: PIECE_BYTES });
};

/** Counts the bodies of one process. */
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

  /** Throws unless so many bytes more may wait. */
  const counted = (parts: readonly string[], length: number, tenantId: string): ReadableStream => {
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
    const stream = isOnePiece ? streamOf([parts.join("")], stalledMs, null) : counted(parts, byteLength, tenantId);
    const headers = set.headers as Record<string, string>;
    // Elysia would copy the response, header by header, to add them.
    set.headers = {};
    return new Response(stream, { headers });
  };
  return { send, waiting: () => waiting };
};
