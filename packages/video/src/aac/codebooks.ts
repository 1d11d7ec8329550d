/**
 * The Huffman codes of AAC (ISO/IEC 14496-3, annex 4.A): the bits that numbers take in each codebook, and the writer.
 */
import type { BitWriter } from "../bit-writer.ts";
import tables from "./codebooks.json" with { type: "json" };

/**
 * The form of a codebook: it encodes `group` numbers at once, each at most `max`, signed or with the signs after the
 * code.
 */
type Form = { group: 2 | 4; isSigned: boolean; max: number };
type Book = Form & {
  lengths: readonly number[];
  codes: readonly number[];
  /** The length of each code in bits, with the signs after it. */
  bits: Uint8Array;
};

const FORMS: readonly Form[] = [
  { group: 4, isSigned: true, max: 1 },
  { group: 4, isSigned: true, max: 1 },
  { group: 4, isSigned: false, max: 2 },
  { group: 4, isSigned: false, max: 2 },
  { group: 2, isSigned: true, max: 4 },
  { group: 2, isSigned: true, max: 4 },
  { group: 2, isSigned: false, max: 7 },
  { group: 2, isSigned: false, max: 7 },
  { group: 2, isSigned: false, max: 12 },
  { group: 2, isSigned: false, max: 12 },
  // A number of 16 or more has the code of 16. Its value follows the code.
  { group: 2, isSigned: false, max: 16 },
];

/** For zeros only: nothing is written. */
export const ZERO_BOOK = 0;
export const BOOKS = FORMS.length + 1;
const ESCAPE = 16;
/** The largest number that can be written after the code of 16. */
export const MAX_VALUE = 8191;

/** How many of the numbers of a code are not zero. Each of them has a sign bit. */
const countSigns = ({ group, max }: Form, index: number): number => {
  let [left, signs] = [index, 0];
  for (let offset = 0; offset < group; offset++) {
    if (left % (max + 1) !== 0) signs++;
    left = Math.floor(left / (max + 1));
  }
  return signs;
};

const bookOf = (number: number): Book => {
  const [form, table] = [FORMS[number - 1], tables.spectrum[number - 1]];
  if (form === undefined || table === undefined) throw new RangeError(`Unknown codebook ${number}.`);
  const bits = Uint8Array.from(
    table.lengths,
    (length, index) => length + (form.isSigned ? 0 : countSigns(form, index)),
  );
  return { ...form, ...table, bits };
};
const SPECTRUM: readonly Book[] = Array.from({ length: BOOKS }, (_, number) => bookOf(Math.max(1, number)));

/** The index of the code of the numbers from `start` on. */
const indexOf = (book: Book, values: Int32Array, start: number): number => {
  const { group, isSigned, max } = book;
  const base = isSigned ? 2 * max + 1 : max + 1;
  let index = 0;
  for (let at = start; at < start + group; at++) {
    const value = values[at] as number;
    index = index * base + (isSigned ? value + max : Math.min(max, value < 0 ? -value : value));
  }
  return index;
};

/** The bits of a number from 16 on, after its code: N ones, a zero, and N + 4 bits. */
const escapeLength = (value: number): number => 2 * (31 - Math.clz32(value)) - 3;

/** The first codebook that can encode numbers up to `max`. All after it can as well. */
export const firstBook = (max: number): number => {
  if (max === 0) return ZERO_BOOK;
  const first = FORMS.findIndex((form) => form.max >= max);
  return first < 0 ? BOOKS - 1 : first + 1;
};

/** The bits of the numbers from `start` to `end` in a codebook that can encode them. */
export const countBits = (number: number, values: Int32Array, start: number, end: number): number => {
  if (number === ZERO_BOOK) return 0;
  const book = SPECTRUM[number] as Book;
  let bits = 0;
  for (let at = start; at < end; at += book.group) bits += book.bits[indexOf(book, values, at)] as number;
  if (book.max !== ESCAPE) return bits;
  for (let at = start; at < end; at++) {
    const value = Math.abs(values[at] as number);
    if (value >= ESCAPE) bits += escapeLength(value);
  }
  return bits;
};

const writeEscape = (writer: BitWriter, value: number): void => {
  const length = 31 - Math.clz32(value);
  const ones = length - 4;
  writer.write(2 ** (ones + 1) - 2, ones + 1);
  writer.write(value - 2 ** length, length);
};

/** Writes the numbers from `start` to `end` in a codebook that can encode them. */
export const writeValues = (
  writer: BitWriter,
  number: number,
  values: Int32Array,
  [start, end]: readonly [start: number, end: number],
): void => {
  if (number === ZERO_BOOK) return;
  const book = SPECTRUM[number] as Book;
  for (let at = start; at < end; at += book.group) {
    const index = indexOf(book, values, at);
    writer.write(book.codes[index] as number, book.lengths[index] as number);
    if (book.isSigned) continue;
    const group = values.subarray(at, at + book.group);
    for (const value of group) if (value !== 0) writer.write(value < 0 ? 1 : 0, 1);
    if (book.max !== ESCAPE) continue;
    for (const value of group) if (Math.abs(value) >= ESCAPE) writeEscape(writer, Math.abs(value));
  }
};

/** The difference of two consecutive scalefactors is from -60 to 60. */
export const MAX_DIFFERENCE = 60;

export const scalefactorBits = (difference: number): number =>
  tables.scalefactors.lengths[difference + MAX_DIFFERENCE] as number;

export const writeScalefactor = (writer: BitWriter, difference: number): void =>
  writer.write(tables.scalefactors.codes[difference + MAX_DIFFERENCE] as number, scalefactorBits(difference));
