/**
 * Chooses the codebook of each band, so that a frame takes the fewest bits. Neighbouring bands with the same codebook
 * form a section.
 */
import { BAND_OFFSETS, BANDS } from "./bands.ts";
import { BOOKS, countBits, firstBook, ZERO_BOOK } from "./codebooks.ts";

/** A section has 4 bits for its codebook and 5 for its length. From 31 bands on, it has 5 more. */
const SECTION_BITS = 9;
const LONG_SECTION = 31;

export type Section = { book: number; from: number; to: number };

/** The largest absolute value of a band. */
const largest = (values: Int32Array, band: number): number => {
  let max = 0;
  for (let index = BAND_OFFSETS[band] as number; index < (BAND_OFFSETS[band + 1] as number); index++) {
    max = Math.max(max, Math.abs(values[index] as number));
  }
  return max;
};

/** The codebook with the fewest bits. */
const cheapest = (totals: Float64Array): number => {
  let best = 0;
  for (let book = 1; book < totals.length; book++) {
    if ((totals[book] as number) < (totals[best] as number)) best = book;
  }
  return best;
};

/** How many codebooks are compared for a band: the two for its largest value, and those for the next larger values. */
const CHOICES = 4;

/**
 * The bits of each band in each codebook. Infinite for a codebook that cannot encode the band, or takes far more bits
 * than another.
 */
const bandCosts = (values: Int32Array): Float64Array[] =>
  Array.from({ length: BANDS }, (_, band) => {
    const costs = new Float64Array(BOOKS).fill(Number.POSITIVE_INFINITY);
    const [start, end] = [BAND_OFFSETS[band] as number, BAND_OFFSETS[band + 1] as number];
    const first = firstBook(largest(values, band));
    // Only in the first codebook, a band of zeros has no scalefactor.
    const last = first === ZERO_BOOK ? ZERO_BOOK : Math.min(BOOKS, first + CHOICES) - 1;
    for (let book = first; book <= last; book++) costs[book] = countBits(book, values, start, end);
    return costs;
  });

/** The sections of quantized coefficients, and their bits: those of the codes and of the sections. */
export const chooseSections = (values: Int32Array): { sections: Section[]; bits: number } => {
  const costs = bandCosts(values);
  // The fewest bits up to a band with this codebook, and the codebook of the band before it.
  let totals = (costs[0] as Float64Array).map((bits) => bits + SECTION_BITS);
  const before: Int8Array[] = [];
  for (let band = 1; band < BANDS; band++) {
    const best = cheapest(totals);
    const change = (totals[best] as number) + SECTION_BITS;
    const [from, next] = [new Int8Array(BOOKS), new Float64Array(BOOKS)];
    for (let book = 0; book < BOOKS; book++) {
      const same = totals[book] as number;
      from[book] = same <= change ? book : best;
      next[book] = ((costs[band] as Float64Array)[book] as number) + Math.min(same, change);
    }
    totals = next;
    before.push(from);
  }
  const sections: Section[] = [];
  let book = cheapest(totals);
  const bits = totals[book] as number;
  for (let band = BANDS - 1; band >= 0; band--) {
    const [last] = sections;
    if (last?.book === book) last.from = band;
    else sections.unshift({ book, from: band, to: band + 1 });
    book = before[band - 1]?.[book] ?? book;
  }
  const long = sections.filter(({ from, to }) => to - from >= LONG_SECTION).length;
  return { sections, bits: bits + 5 * long };
};
