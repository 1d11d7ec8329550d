/** Streams to and from a store that may stop responding: a watch aborts the request when no bytes arrive or leave. */
import { StorageError } from "../storage.ts";

/** Aborts a request after a time without progress. */
export type Watch = {
  signal: AbortSignal;
  /** Restarts the timer. */
  progress(): void;
  /** Pauses the timer until the next progress. */
  pause(): void;
  abort(): void;
  /** The request is over. */
  stop(): void;
};

/** A watch that aborts `idleMs` after the last progress, or when one of `signals` does. */
export const startWatch = (idleMs: number, signals: readonly AbortSignal[]): Watch => {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  let timer = setTimeout(abort, idleMs);
  const pause = (): void => clearTimeout(timer);
  for (const signal of signals) {
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
  }
  return {
    signal: controller.signal,
    progress: () => {
      pause();
      timer = setTimeout(abort, idleMs);
    },
    pause,
    abort,
    stop: () => {
      pause();
      for (const signal of signals) signal.removeEventListener("abort", abort);
    },
  };
};

export type UploadBody = {
  stream: ReadableStream<Uint8Array>;
  /** The error of the source, if it failed, as opposed to a failure of the store. */
  failure(): { error: unknown } | null;
};

const wrongSize = () => new StorageError("size", "The stream does not have its declared size.");

/**
 * The body of an upload. It fails, and cuts the request, unless the source has exactly `sizeBytes`. So the store stores
 * no incomplete file. The source has no time limit here, because it is often a client with a separate deadline.
 */
export const uploadBody = (source: ReadableStream<Uint8Array>, sizeBytes: number, watch: Watch): UploadBody => {
  const reader = source.getReader();
  let sent = 0;
  let failure: { error: unknown } | null = null;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      watch.pause();
      const { done, value } = await reader.read();
      watch.progress();
      sent += value?.byteLength ?? 0;
      if (sent > sizeBytes || (done && sent < sizeBytes)) throw wrongSize();
      if (done) controller.close();
      else controller.enqueue(value);
    } catch (error) {
      failure = { error };
      await reader.cancel().catch(() => {});
      controller.error(error);
    }
  };
  const cancel = (): Promise<void> => reader.cancel();
  return { stream: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), failure: () => failure };
};

/** Reads a source that should be empty to its end. */
export const drainEmpty = async (source: ReadableStream<Uint8Array>): Promise<void> => {
  for await (const chunk of source) if (chunk.byteLength > 0) throw wrongSize();
};

/**
 * The body of a response. It fails when the store stops sending while the consumer reads. (Bun detects an end before
 * the `Content-Length`.)
 */
export const downloadBody = (body: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> => {
  const reader = body.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      watch.progress();
      const { done, value } = await reader.read();
      // The consumer's time does not count.
      watch.pause();
      if (!done) return controller.enqueue(value);
      watch.stop();
      controller.close();
    } catch {
      watch.stop();
      controller.error(new StorageError("unavailable", "The store stopped in the middle of a file."));
    }
  };
  const cancel = (): void => {
    watch.stop();
    watch.abort();
  };
  watch.pause();
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
};
