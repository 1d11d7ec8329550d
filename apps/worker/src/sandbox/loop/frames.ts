/** The frames of a film that ffmpeg has written: JPEGs, one after the other. Pure functions. */

const [SOI, EOI, SOS] = [0xd8, 0xd9, 0xda];

/** The end of the data of a scan: the next marker. In the data, a byte 0xff is followed by 0 or by a restart marker. */
const endOfScan = (bytes: Buffer, from: number): number => {
  for (let at = bytes.indexOf(0xff, from); at >= 0; at = bytes.indexOf(0xff, at + 1)) {
    const next = bytes[at + 1] ?? EOI;
    if (next !== 0 && (next < 0xd0 || next > 0xd7)) return at;
  }
  return bytes.length;
};

/** The end of the JPEG that begins at `start`; null when it is cut off, or when no JPEG begins there. */
const endOfJpeg = (bytes: Buffer, start: number): number | null => {
  if (bytes[start] !== 0xff || bytes[start + 1] !== SOI) return null;
  for (let at = start + 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1];
    if (marker === EOI) return at + 2;
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    at = marker === SOS ? endOfScan(bytes, end) : end;
    if (bytes[at] === 0xff && bytes[at + 1] === EOI) return at + 2;
  }
  return null;
};

/** The JPEGs at the beginning of `bytes`, at most `most`, as views. A damaged one ends them. */
export const splitJpegs = (bytes: Buffer, most: number): Buffer[] => {
  const jpegs: Buffer[] = [];
  for (let start = 0; jpegs.length < most; ) {
    const end = endOfJpeg(bytes, start);
    if (end === null) break;
    jpegs.push(bytes.subarray(start, end));
    start = end;
  }
  return jpegs;
};
