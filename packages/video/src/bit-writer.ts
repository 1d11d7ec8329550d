/** Writes numbers of any number of bits, the highest bit first, as in H.264 and AAC. */

export type BitWriter = {
  /** Writes the lowest `length` bits of a number: at most 32. */
  write: (value: number, length: number) => void;
  /** The number of written bits. */
  size: () => number;
  /** The written bits, with zeros up to a whole byte. */
  bytes: () => Uint8Array<ArrayBuffer>;
};

export const createBitWriter = (): BitWriter => {
  let bytes = new Uint8Array(1024);
  let size = 0;
  return {
    write: (value, length) => {
      if (size + length > 8 * bytes.length) {
        const larger = new Uint8Array(2 * bytes.length);
        larger.set(bytes);
        bytes = larger;
      }
      for (let left = length; left > 0; ) {
        const free = 8 - (size & 7);
        const count = Math.min(free, left);
        const part = (value >>> (left - count)) & ((1 << count) - 1);
        bytes[size >> 3] = (bytes[size >> 3] as number) | (part << (free - count));
        size += count;
        left -= count;
      }
    },
    size: () => size,
    bytes: () => bytes.slice(0, (size + 7) >> 3),
  };
};
