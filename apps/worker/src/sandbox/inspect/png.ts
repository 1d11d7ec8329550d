/** The parts of a PNG (W3C PNG 3) that libvips does not read: its frames, and the code points of its colours. */
import type { Colors } from "../measure/light.ts";

/** The chunks before the image data. */
function* headChunks(bytes: Buffer): Generator<{ type: string; content: Buffer }> {
  for (let at = 8; at + 12 <= bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (type === "IDAT") return;
    yield { type, content: bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)) };
  }
}

const contentOf = (bytes: Buffer, type: string): Buffer | null => {
  for (const chunk of headChunks(bytes)) if (chunk.type === type) return chunk.content;
  return null;
};

/** The number of frames that a PNG declares. An animated PNG (APNG) has a chunk with it. */
export const pngFrames = (bytes: Buffer): number => {
  const control = contentOf(bytes, "acTL");
  return control === null || control.length < 4 ? 1 : control.readUInt32BE(0);
};

/**
 * The code points of ITU-T H.273. Curves for screens without HDR differ little, and browsers show them in the same way.
 */
const PRIMARIES: Record<number, Colors["primaries"]> = { 1: "bt709", 9: "bt2020", 11: "p3", 12: "p3" };
const TRANSFERS: Record<number, Colors["transfer"]> = { 1: "sdr", 6: "sdr", 13: "sdr", 14: "sdr", 16: "pq", 18: "hlg" };

/**
 * The colour space that a PNG names by code points (`cICP`), which takes precedence over a profile; null when it names
 * none or an unknown one.
 */
export const pngColors = (bytes: Buffer): Colors | null => {
  const [primaries = 0, transfer = 0] = contentOf(bytes, "cICP") ?? [];
  const named = { primaries: PRIMARIES[primaries], transfer: TRANSFERS[transfer] };
  return named.primaries && named.transfer ? { primaries: named.primaries, transfer: named.transfer } : null;
};
