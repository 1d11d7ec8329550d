/**
 * A process of the tests with a store on disk: `token DIR` prints a signed URL; `stall DIR KEY` begins to store a file and
 * never ends; `loop DIR KEY` stores two files in turn under one key until it is killed.
 */

import { LOOPED, pseudoRandomBytes, streamChunks } from "../bytes-testing.ts";
import { openStorage } from "../open.ts";

const [command, directory = "", key = ""] = process.argv.slice(2);
const storage = await openStorage({ kind: "disk", directory, signingSecret: null }, { origin: () => "" });

if (command === "token") process.stdout.write(`${await storage.signGet("one", new Date(Date.now() + 60_000))}\n`);
if (command === "stall") {
  const chunk = pseudoRandomBytes(0, 100_000);
  let count = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (count++ < 10) return controller.enqueue(chunk);
      process.stdout.write("stalled\n");
      return new Promise(() => {});
    },
  });
  // Keeps the process alive.
  setInterval(() => {}, 1000);
  await storage.put(key, { stream, sizeBytes: 2_000_000 }, "image/png");
}
if (command === "loop") {
  for (let round = 0; ; round++) {
    const [contentType, seed, sizeBytes] = LOOPED[round % 2] ?? LOOPED[0];
    await storage.put(key, { stream: streamChunks([pseudoRandomBytes(seed, sizeBytes)]), sizeBytes }, contentType);
    if (round === 0) process.stdout.write("stored\n");
  }
}
