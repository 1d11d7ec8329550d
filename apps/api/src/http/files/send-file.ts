/** Sends files as streams. Only one piece of each file is in memory, even if the client reads slowly. */
import { Problem } from "@realtime-avatar/domain/problem";
import { createPlaces, type Place } from "../limits/places.ts";
import { release } from "./release.ts";

export type FileSenderOptions = {
  /** Maximum number of files that are being sent by the process; above it, requests get 503. */
  maxOpen?: number;
  /** Milliseconds after which a connection that accepts nothing is closed. */
  stalledMs?: number;
  /** The shorter limit while half of `maxOpen` files are being sent and other clients wait. */
  scarceStalledMs?: number;
};

/** A request for a file: the network of its client, and the identifier of the file. */
export type FileRequest = { client: string; file: string };

export type FileSender = {
  /**
   * Opens a file and returns a stream for its response; null when the file does not exist. Throws the problem
   * `rate_limited` when too many files are being sent to the client, and `unavailable` when too many files are being
   * sent in all, or too many clients are receiving this file.
   */
  open(
    request: FileRequest,
    openFile: () => Promise<{ stream: ReadableStream<Uint8Array> } | null>,
  ): Promise<ReadableStream<Uint8Array> | null>;
  /** The number of files that are being sent. */
  count(): number;
};

/**
 * A stream that sends each piece after the connection has accepted the previous one. It frees its place when it ends in
 * any way, and when reading does not begin in time. An error resets the connection, so that the client does not take a
 * part for the whole.
 */
const pacedStream = (source: ReadableStream<Uint8Array>, place: Place, stalledMs: number) => {
  const reader = source.getReader();
  const stalled = Promise.withResolvers<never>();
  // The promise may have no listener.
  stalled.promise.catch(() => {});
  let isDone = false;
  const end = (): void => {
    if (isDone) return;
    isDone = true;
    watch.stop();
    place.free();
    reader.cancel().catch(() => {});
  };
  const watch = place.watch(stalledMs, () => {
    end();
    stalled.reject(new Error("the client reads nothing"));
  });
  const paced: Bun.DirectUnderlyingSource = {
    // Bun's own type of stream: it reports when the connection accepts no more.
    type: "direct",
    async pull(controller) {
      watch.stop();
      try {
        for (let { value } = await reader.read(); value !== undefined && !isDone; { value } = await reader.read()) {
          const result: unknown = controller.write(value);
          if (result instanceof Promise) {
            watch.progress();
            await Promise.race([result, stalled.promise]);
            watch.stop();
          }
          // The piece was sent, or copied into the buffer of the connection.
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

const RETRY = { retryable: true, retryAfterSeconds: 5 };

/**
 * Counts the files that one process is sending. A client gets at most a quarter of the places. A file gets at most half
 * of them, or three quarters for clients that receive no other file: otherwise two clients could keep a file from all
 * others.
 */
export const createFileSender = (options: FileSenderOptions = {}): FileSender => {
  const { maxOpen = 256, stalledMs = 30_000, scarceStalledMs } = options;
  const places = createPlaces(maxOpen, scarceStalledMs);
  return {
    count: places.count,
    open: async ({ client, file }, openFile) => {
      const ofClient = { name: `client ${client}`, share: maxOpen / 4 };
      const ofFile = { name: `file ${file}`, share: maxOpen / 2, firstShare: (3 * maxOpen) / 4 };
      const taken = places.take([ofClient, ofFile]);
      if (taken.kind === "used_up" && taken.holder === ofClient) {
        throw new Problem("rate_limited", "Too many files are being sent to this client. Read them first.", RETRY);
      }
      if (taken.kind !== "taken") {
        throw new Problem("unavailable", "Too many files are being sent. Try again shortly.", RETRY);
      }
      const { place } = taken;
      try {
        const opened = await openFile();
        if (opened !== null) return pacedStream(opened.stream, place, stalledMs);
      } catch (error) {
        place.free();
        throw error;
      }
      place.free();
      return null;
    },
  };
};
