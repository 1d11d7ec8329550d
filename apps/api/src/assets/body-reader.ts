/** Reads a large body piece by piece, no faster than the pieces are processed, and within limits of size and time. */
import { Problem } from "@realtime-avatar/domain/problem";
import { release } from "../http/files/release.ts";
import { createPlaces, type Place } from "../http/limits/places.ts";
import type { RequestContext } from "../http/request-context.ts";

/**
 * A body must deliver `PROGRESS_BYTES` in each `STALL_MS`, or end. Otherwise a client could hold its place for hours
 * with single bytes.
 */
export const STALL_MS = 30_000;
export const PROGRESS_BYTES = 64 * 1024;

/** A place that does not depend on other bodies. */
const unlimitedPlace = (): Place => {
  const taken = createPlaces(Number.POSITIVE_INFINITY).take([]);
  if (taken.kind !== "taken") throw new Error("an unlimited place was refused");
  return taken.place;
};

/**
 * Up to this declared length, a refused body is discarded as it arrives. A connection that is closed while the client still
 * sends is reset, and most clients then report the reset instead of the response.
 */
const MAX_DISCARDED_BYTES = 1024 ** 3;

export type BodyReader = {
  /** The next piece; null at the end. Throws a `Problem` when the body stalls, breaks off or is larger than allowed. */
  read(): Promise<Uint8Array | null>;
  /** Stops reading. A pending `read` ends. Adds the time since the start to the deadline of the request. */
  close(): void;
};

const incomplete = (): Problem => new Problem("malformed_request", "The body ended before it was complete.");
const stalled = (): Problem =>
  new Problem("malformed_request", "The body did not arrive in time.", { retryable: true, hangUp: true });

const noBody = (): ReadableStream<Uint8Array> => new ReadableStream({ start: (controller) => controller.close() });

/**
 * Starts to read the body of a request. `maxBytes` bounds the whole body; a larger one throws `tooLarge()`, at once when
 * its declared length says so. `stallMs`: see `STALL_MS`. `place`: the place that the upload holds, which it loses when the
 * body stalls.
 */
export const openBody = (
  request: Request,
  context: RequestContext,
  options: { maxBytes: number; tooLarge: () => Problem; stallMs?: number; place?: Place },
): BodyReader => {
  const { maxBytes, tooLarge, stallMs = STALL_MS, place = unlimitedPlace() } = options;
  const declared = request.headers.get("content-length");
  // Bun discards the rest of the body, whose length is bounded.
  if (declared !== null && Number(declared) <= MAX_DISCARDED_BYTES) context.onBodyRead?.();
  if (Number(declared) > maxBytes) throw tooLarge();
  const startedAt = performance.now();
  const reader = (request.body ?? noBody()).getReader();
  let total = 0;
  let recent = 0;
  let isStalled = false;
  let isClosed = false;
  const cancel = (): void => void reader.cancel().catch(() => {});
  const watch = place.watch(stallMs, () => {
    isStalled = true;
    cancel();
  });
  return {
    read: async () => {
      // After a disconnection, the read rejects or ends early.
      const { value } = await reader.read().catch(() => Promise.reject(incomplete()));
      if (isStalled) throw stalled();
      if (isClosed) return null;
      if (value === undefined) {
        if (context.isAborted()) throw incomplete();
        context.onBodyRead?.();
        return null;
      }
      total += value.byteLength;
      if (total > maxBytes) throw tooLarge();
      recent += value.byteLength;
      if (recent >= PROGRESS_BYTES) {
        recent = 0;
        watch.progress();
      }
      return value;
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      watch.stop();
      cancel();
      context.deadline += performance.now() - startedAt;
    },
  };
};

/**
 * The rest of a body as a stream that reads on demand. The reader must have processed a piece before it requests the
 * next one.
 */
export const readableStream = (body: BodyReader): ReadableStream<Uint8Array> => {
  let piece: Uint8Array | null = null;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (piece !== null) release(piece);
        piece = await body.read();
        if (piece === null) controller.close();
        else controller.enqueue(piece);
      },
      cancel: () => body.close(),
    },
    { highWaterMark: 0 },
  );
};
