/** Sends files as streams: one piece of each is in memory, however slowly its client reads. */
import { Problem } from "@realtime-avatar/domain/problem";
import { release } from "./release.ts";

export type FileSenderOptions = {
  /** Maximum number of files that are being sent by the process; above it, requests get 503. */
  maxOpen?: number;
  /** Milliseconds after which a connection that accepts nothing is closed. */
  stalledMs?: number;
};

export type FileSender = {
  /**
   * Opens a file and returns a stream for its response; null when there is no file. Throws the problem `unavailable` when
   * too many files are being sent.
   */
  open(
    openFile: () => Promise<{ stream: ReadableStream<Uint8Array> } | null>,
  ): Promise<ReadableStream<Uint8Array> | null>;
  /** How many files are being sent. */
  count(): number;
};

/** Waits for `piece`. Throws when it takes longer than `stalledMs`. */
const within = async (piece: Promise<unknown>, stalledMs: number): Promise<void> => {
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the client reads nothing")), stalledMs);
  try {
    await Promise.race([piece, stalled]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * A stream that sends each piece after the connection has accepted the previous one. `done` is called once, however the
 * stream ends, and also when it is not begun in time. An error resets the connection, so that the client does not take a
 * part for the whole.
 */
const pacedStream = (source: ReadableStream<Uint8Array>, stalledMs: number, done: () => void) => {
  const reader = source.getReader();
  let isDone = false;
  const end = (): void => {
    clearTimeout(unread);
    if (isDone) return;
    isDone = true;
    reader.cancel().catch(() => {});
    done();
  };
  const unread = setTimeout(end, stalledMs).unref();
  const paced: Bun.DirectUnderlyingSource = {
    // Bun's own type of stream: it reports when the connection accepts no more.
    type: "direct",
    async pull(controller) {
      clearTimeout(unread);
      try {
        for (let { value } = await reader.read(); value !== undefined && !isDone; { value } = await reader.read()) {
          const result: unknown = controller.write(value);
          if (result instanceof Promise) await within(result, stalledMs);
          // It was sent, or copied into the buffer of the connection.
          release(value);
        }
        if (!isDone) controller.close();
      } finally {
        end();
      }
    },
    cancel: end,
  };
  return new ReadableStream<Uint8Array>(paced);
};

/** Counts the files that one process is sending. */
export const createFileSender = ({ maxOpen = 256, stalledMs = 30_000 }: FileSenderOptions = {}): FileSender => {
  let open = 0;
  return {
    count: () => open,
    open: async (openFile) => {
      if (open >= maxOpen) {
        throw new Problem("unavailable", "Too many files are being sent. Try again shortly.", { retryable: true });
      }
      open++;
      const close = (): void => void open--;
      try {
        const file = await openFile();
        if (file !== null) return pacedStream(file.stream, stalledMs, close);
      } catch (error) {
        close();
        throw error;
      }
      close();
      return null;
    },
  };
};
