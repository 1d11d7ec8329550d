/** For tests. */
import fc from "fast-check";

/**
 * A code point, except surrogates, as a unit of generated texts. The unit "binary" of fast-check takes a second of
 * processor time in each process, for a table of all code points.
 */
export const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));
