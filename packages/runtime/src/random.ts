import type { RandomBytes } from "@realtime-avatar/domain/id";

/** Bytes from the operating system's generator. */
export const secureRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
