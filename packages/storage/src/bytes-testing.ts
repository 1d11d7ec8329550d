/** Bytes and streams for the tests, and for the processes that they start. */
import { createHash } from "node:crypto";

export const md5Base64 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("base64");

/** A stream of these chunks, which then fails with `error`, if set. */
export const streamChunks = (chunks: readonly Uint8Array[], error?: Error): ReadableStream<Uint8Array> => {
  let index = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const chunk = chunks[index++];
        if (chunk) controller.enqueue(chunk);
        else if (error) controller.error(error);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
};

/** Pseudorandom bytes of this seed. */
export const pseudoRandomBytes = (seed: number, length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length);
  // Ten times as fast as `Uint8Array.from`: the tests generate many megabytes.
  for (let index = 0; index < length; index++) bytes[index] = (index * 31 + (index >> 8) * 7 + seed) & 255;
  return bytes;
};

/** The two files that `disk/process-testing.ts loop` stores in turn: content type, seed, size. */
export const LOOPED = [
  ["image/png", 1, 400_000],
  ["video/mp4", 2, 700_000],
] as const;
