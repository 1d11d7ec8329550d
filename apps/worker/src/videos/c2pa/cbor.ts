/** CBOR as far as C2PA needs it, in the deterministic encoding of RFC 8949, section 4.2.1. */

/** A value with a tag, such as 0 for a date and time as text. */
export class Tagged {
  readonly tag: number;
  readonly value: CborValue;

  constructor(tag: number, value: CborValue) {
    this.tag = tag;
    this.value = value;
  }
}

/** Numbers are integers. A `Map` may have integers as keys. */
export type CborValue =
  | null
  | number
  | string
  | Uint8Array
  | Tagged
  | readonly CborValue[]
  | ReadonlyMap<number | string, CborValue>
  | { readonly [key: string]: CborValue };

const MAJOR = { unsigned: 0, negative: 1, bytes: 2, text: 3, array: 4, map: 5, tag: 6 } as const;
const NULL = 0xf6;

/** The major type and its argument: a number below 2^32. */
const head = (major: number, argument: number): Buffer => {
  if (!Number.isInteger(argument) || argument < 0 || argument > 0xffff_ffff) {
    throw new RangeError("CBOR of this encoder has integers of 32 bits.");
  }
  const first = major << 5;
  if (argument < 24) return Buffer.from([first | argument]);
  if (argument < 0x100) return Buffer.from([first | 24, argument]);
  const bytes = Buffer.alloc(argument < 0x1_0000 ? 3 : 5);
  bytes[0] = first | (argument < 0x1_0000 ? 25 : 26);
  bytes.writeUIntBE(argument, 1, bytes.length - 1);
  return bytes;
};

/** The keys in the order of their encoded bytes. */
const encodeMap = (entries: readonly (readonly [number | string, CborValue])[]): Buffer => {
  const pairs = entries.map(([key, value]) => [encodeCbor(key), encodeCbor(value)] as const);
  pairs.sort(([left], [right]) => Buffer.compare(left, right));
  return Buffer.concat([head(MAJOR.map, pairs.length), ...pairs.flat()]);
};

/** Throws a `RangeError` for a number that is not an integer of 32 bits. */
export const encodeCbor = (value: CborValue): Buffer => {
  if (value === null) return Buffer.from([NULL]);
  if (typeof value === "number") return value < 0 ? head(MAJOR.negative, -1 - value) : head(MAJOR.unsigned, value);
  if (typeof value === "string") {
    const text = Buffer.from(value);
    return Buffer.concat([head(MAJOR.text, text.length), text]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(MAJOR.bytes, value.length), value]);
  if (value instanceof Tagged) return Buffer.concat([head(MAJOR.tag, value.tag), encodeCbor(value.value)]);
  if (Array.isArray(value)) return Buffer.concat([head(MAJOR.array, value.length), ...value.map(encodeCbor)]);
  return encodeMap(value instanceof Map ? [...value] : Object.entries(value));
};
