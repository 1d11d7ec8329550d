/** Sources of random bytes for tests: random, or deterministic. */
import { createHash, randomBytes } from "node:crypto";
import type { RandomBytes } from "@realtime-avatar/domain/id";

/** The source for tests that do not depend on the bytes. */
export const random: RandomBytes = (count) => randomBytes(count);

/** A generator that yields 0, 1, 2, … 255, 0, …: for test vectors that another language can reproduce. */
export const countingBytes = (): RandomBytes => {
  let next = 0;
  return (count) => Uint8Array.from({ length: count }, () => next++ % 256);
};

/** Uniform bytes from a seed: SHA-256 of the seed and a counter. */
export const seededBytes = (seed: string): RandomBytes => {
  let counter = 0;
  let pool: Uint8Array = new Uint8Array(0);
  return (count) => {
    const bytes = new Uint8Array(count);
    for (let filled = 0; filled < count; ) {
      if (pool.length === 0) pool = createHash("sha256").update(`${seed}:${counter++}`).digest();
      const part = pool.subarray(0, count - filled);
      bytes.set(part, filled);
      pool = pool.subarray(part.length);
      filled += part.length;
    }
    return bytes;
  };
};
