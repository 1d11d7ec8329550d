/** For tests. */
import fc from "fast-check";

/**
 * A code point, of all but the surrogates: a unit of texts. That of fast-check, "binary", takes a second of processor time in each
 * process, for a table of all of them.
 */
export const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - 0x800 })
  .map((at) => String.fromCodePoint(at < 0xd800 ? at : at + 0x800));
