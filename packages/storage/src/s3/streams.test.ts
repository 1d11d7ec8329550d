/** The streams to and from a store, tested without a store: input, time limits and released resources. */
import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { StorageError } from "../storage.ts";
import { downloadBody, drainEmpty, startWatch, uploadBody } from "./streams.ts";

const HOUR_MS = 3_600_000;
const read = async (stream: ReadableStream<Uint8Array>): Promise<number> => (await new Response(stream).bytes()).length;
/** Records the calls of a watch. */
const countingWatch = () => {
  const calls: string[] = [];
  const note = (name: string) => () => void calls.push(name);
  const { signal } = new AbortController();
  const names = { progress: note("progress"), pause: note("pause"), abort: note("abort"), stop: note("stop") };
  return { calls, watch: { signal, ...names } };
};

describe("a watch", () => {
  test("a signal, aborted before or after the start: aborts the watch", () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const watch = startWatch(HOUR_MS, [first.signal, second.signal]);
    expect(watch.signal.aborted).toBe(false);
    second.abort();
    expect(watch.signal.aborted).toBe(true);
    watch.stop();
    expect(startWatch(HOUR_MS, [first.signal, AbortSignal.abort()]).signal.aborted).toBe(true);
  });

  test("stopped: leaves no listener on its signals, and does not abort", () => {
    const closing = new AbortController();
    const watch = startWatch(HOUR_MS, [closing.signal]);
    watch.stop();
    expect(getEventListeners(closing.signal, "abort")).toEqual([]);
    closing.abort();
    expect(watch.signal.aborted).toBe(false);
  });

  test("without progress: aborts; paused: does not abort until progress follows", async () => {
    const [idle, paused] = [startWatch(1, []), startWatch(1, [])];
    paused.pause();
    await new Promise((resolve) => idle.signal.addEventListener("abort", resolve));
    await Bun.sleep(2);
    expect(paused.signal.aborted).toBe(false);
    paused.progress();
    await new Promise((resolve) => paused.signal.addEventListener("abort", resolve));
  });
});

describe("the body of an upload", () => {
  const upload = (sizes: number[], sizeBytes: number, error?: Error) => {
    const { calls, watch } = countingWatch();
    const source = streamChunks(
      sizes.map((size) => pseudoRandomBytes(0, size)),
      error,
    );
    return { calls, ...uploadBody(source, sizeBytes, watch) };
  };

  test("of the declared size: passed on; the time of its source does not count", async () => {
    const { stream, failure, calls } = upload([3, 4], 7);
    expect([await read(stream), failure()]).toEqual([7, null]);
    expect(calls).toEqual(["pause", "progress", "pause", "progress", "pause", "progress"]);
  });

  test.each([
    ["a byte more", [3, 5], 7],
    ["a byte fewer", [3, 3], 7],
    ["nothing", [], 1],
  ])("of %s: fails with an error that names the reason", async (_, sizes, sizeBytes) => {
    const { stream, failure } = upload(sizes, sizeBytes);
    await expect(read(stream)).rejects.toMatchObject({ reason: "size" });
    expect(failure()?.error).toBeInstanceOf(StorageError);
  });

  test("whose source fails: fails with the error of the source, not with an error of the store", async () => {
    const gone = new Error("the client is gone");
    const { stream, failure } = upload([3], 7, gone);
    await expect(read(stream)).rejects.toBe(gone);
    expect(failure()).toEqual({ error: gone });
  });

  test("declared empty: read to its end; a byte is refused", async () => {
    await drainEmpty(streamChunks([new Uint8Array()]));
    await expect(drainEmpty(streamChunks([pseudoRandomBytes(0, 1)]))).rejects.toMatchObject({ reason: "size" });
  });
});

describe("the body of a response", () => {
  test("read to its end: the watch is stopped; the time of its reader does not count", async () => {
    const { calls, watch } = countingWatch();
    expect(await read(downloadBody(streamChunks([pseudoRandomBytes(0, 3)]), watch))).toBe(3);
    expect(calls).toEqual(["pause", "progress", "pause", "progress", "pause", "stop"]);
  });

  test("cut off: an error of the store; the watch is stopped", async () => {
    const { calls, watch } = countingWatch();
    const body = downloadBody(streamChunks([pseudoRandomBytes(0, 3)], new Error("secret host")), watch);
    await expect(read(body)).rejects.toMatchObject({
      reason: "unavailable",
      message: "The store stopped in the middle of a file.",
    });
    expect(calls.at(-1)).toBe("stop");
  });

  test("cancelled by its reader: the request ends", async () => {
    const { calls, watch } = countingWatch();
    await downloadBody(streamChunks([pseudoRandomBytes(0, 3)]), watch).cancel();
    expect(calls).toEqual(["pause", "stop", "abort"]);
  });
});
