/** Base62: the characters of secrets. */
import type { RandomBytes } from "../id.ts";

export const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** `length` base62 characters, uniformly distributed: bytes from 248 up are rejected, to avoid modulo bias. */
export const randomBase62 = (length: number, random: RandomBytes): string => {
  let text = "";
  while (text.length < length) {
    for (const byte of random(length - text.length)) if (byte < 248) text += BASE62[byte % 62];
  }
  return text;
};
