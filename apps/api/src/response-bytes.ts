/**
 * Bodies of responses that are being sent. A body waits in this process until its client has read it, so clients that
 * read slowly, or not at all, could fill its memory. Large bodies are therefore counted, for the process and for each
 * tenant, and sent in pieces, each when the connection has taken the one before. A client that takes nothing for a while
 * loses its connection. What the operating system has taken into its own buffers counts as sent.
 */
import { Problem } from "@realtime-avatar/domain/problem";
import type { Answering } from "./trace.ts";

/** A body of at most so many bytes is sent whole and not counted: the operating system takes it at once. */
const SMALL_BYTES = 64 * 1024;
const PIECE_BYTES = 64 * 1024;
/** The most bytes of UTF-8 for one UTF-16 unit. */
const UTF_8_BYTES = 3;

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
   * The JSON text `body` as the response to a request of the tenant. Throws the problem `unavailable` when too many bytes
   * wait to be sent.
   */
  send(body: string, tenantId: string, set: Answering): string | Response;
  /** How many bytes wait to be sent, small bodies left out. */
  waiting(): number;
};

/** The pieces of `body`, one each time that the connection can take more. `done` is called once, however it ends. */
const piecesOf = (body: Uint8Array<ArrayBuffer>, stalledMs: number, done: () => void): ReadableStream<Uint8Array> => {
  let at = 0;
  let timer: Timer;
  const end = (): void => {
    clearTimeout(timer);
    done();
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        timer = setTimeout(() => {
          done();
          // Resets the connection: the client must not take a part for the whole.
          controller.error(new Error("the client does not read"));
        }, stalledMs).unref();
      },
      pull(controller) {
        timer.refresh();
        if (at < body.length) {
          controller.enqueue(body.subarray(at, at + PIECE_BYTES));
          at += PIECE_BYTES;
        } else {
          end();
          controller.close();
        }
      },
      // The client has hung up.
      cancel: end,
    },
    { highWaterMark: 0 },
  );
};

/** Counts the bodies of one process. */
export const createResponseBytes = (options: ResponseBytesOptions = {}): ResponseBytes => {
  const { maxBytes = 64 * 1024 * 1024, stalledMs = 10_000 } = options;
  const { maxBytesPerTenant = maxBytes / 4 } = options;
  let waiting = 0;
  const byTenant = new Map<string, number>();

  const add = (tenantId: string, bytes: number): void => {
    waiting += bytes;
    const ofTenant = (byTenant.get(tenantId) ?? 0) + bytes;
    if (ofTenant > 0) byTenant.set(tenantId, ofTenant);
    else byTenant.delete(tenantId);
  };

  const send: ResponseBytes["send"] = (text, tenantId, { headers }) => {
    const isSmall = text.length * UTF_8_BYTES <= SMALL_BYTES || Buffer.byteLength(text) <= SMALL_BYTES;
    if (isSmall) {
      headers["content-type"] = "application/json";
      return text;
    }
    const body = new TextEncoder().encode(text);
    const { length } = body;
    if (waiting + length > maxBytes || (byTenant.get(tenantId) ?? 0) + length > maxBytesPerTenant) {
      throw new Problem("unavailable", "Too many bytes of responses wait to be read. Try again shortly.", {
        retryable: true,
      });
    }
    add(tenantId, length);
    const pieces = piecesOf(body, stalledMs, () => add(tenantId, -length));
    return new Response(pieces, { headers: { "content-type": "application/json" } });
  };
  return { send, waiting: () => waiting };
};
