/** The segments and the scans of a JPEG (ISO/IEC 10918-1, annex B). */

const [SOI, SOS, EOI] = [0xd8, 0xda, 0xd9];

/**
 * Segments as libjpeg finds them. It skips the bytes between them; after the head of a scan, these are the data of the
 * scan.
 */
export function* jpegSegments(bytes: Buffer): Generator<{ marker: number; content: Buffer }> {
  for (let at = 0; ; ) {
    at = bytes.indexOf(0xff, at);
    while (at >= 0 && bytes[at] === 0xff) at += 1;
    const marker = at < 0 ? EOI : (bytes[at] ?? EOI);
    if (marker === EOI) return;
    at += 1;
    const hasNoLength = marker <= 1 || marker === SOI || (marker >= 0xd0 && marker <= 0xd7);
    if (hasNoLength) continue;
    if (at + 2 > bytes.length) return;
    const end = at + bytes.readUInt16BE(at);
    yield { marker, content: bytes.subarray(at + 2, end) };
    at = Math.max(end, at + 2);
  }
}

/** Whether a segment is the head of a scan. */
export const isScan = ({ marker }: { marker: number }): boolean => marker === SOS;

/**
 * Encoders write about ten scans. For each scan, the decoder goes through the whole picture, although a scan may have
 * only a few bytes.
 */
export const MAX_SCANS = 100;

/** The number of scans. The format allows 883 for each component. */
export const countScans = (bytes: Buffer): number => {
  let scans = 0;
  for (const segment of jpegSegments(bytes)) if (isScan(segment)) scans += 1;
  return scans;
};

/** Baseline and extended sequential frames. Every scan of these has all coefficients. */
const SEQUENTIAL = [0xc0, 0xc1];
/** First and last coefficient, and the bits of successive approximation, of a scan that has all coefficients. */
const ALL_COEFFICIENTS = [0, 63, 0];

/**
 * Corrects the parameters of the scans of a sequential JPEG, in place. Some phones write other parameters, such as 0 to
 * 0. A decoder does not need them, but libjpeg warns, and its first warning hides a later warning of damage.
 */
export const correctScans = (bytes: Buffer): void => {
  let isSequential = false;
  for (const segment of jpegSegments(bytes)) {
    const { marker, content } = segment;
    if (SEQUENTIAL.includes(marker)) isSequential = true;
    if (isSequential && isScan(segment) && content.length >= 6) content.set(ALL_COEFFICIENTS, content.length - 3);
  }
};
