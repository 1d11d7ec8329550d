/**
 * The content type of a file by its first bytes (magic numbers). The signatures are those of the formats' specifications:
 * JPEG (ITU-T T.81), PNG (W3C), RIFF and WebP (RFC 9649), ISO base media (ISO/IEC 14496-12), Matroska (RFC 9559) and
 * EBML (RFC 8794), MPEG audio (ISO/IEC 11172-3), ADTS (ISO/IEC 13818-7), Ogg (RFC 3533) and FLAC (RFC 9639).
 *
 * The first bytes show only the claimed type of a file. The rest of the file may be malformed. A file is
 * served only after it was decoded and encoded anew.
 */
import { ASSET_LIMITS, type AssetKind, type ContentType } from "./limits.ts";

/** How many bytes `detectContentType` examines. */
export const MAGIC_BYTES = 512;

export type Magic = { [Kind in AssetKind]: { kind: Kind; contentType: ContentType<Kind> } }[AssetKind];

export const hasBytes = (bytes: Uint8Array, offset: number, expected: readonly number[]): boolean =>
  expected.every((byte, index) => bytes[offset + index] === byte);

/** The bytes from `offset` as Latin-1, so that every byte is one character. */
export const textAt = (bytes: Uint8Array, offset: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(offset, offset + length));

const uint32At = (bytes: Uint8Array, offset: number): number =>
  bytes.length < offset + 4 ? -1 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset);

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const imageType = (bytes: Uint8Array): ContentType<"image"> | null => {
  if (hasBytes(bytes, 0, [0xff, 0xd8, 0xff])) return "image/jpeg";
  if (hasBytes(bytes, 0, PNG_SIGNATURE) && uint32At(bytes, 8) === 13 && textAt(bytes, 12, 4) === "IHDR") {
    return "image/png";
  }
  const isWebp = textAt(bytes, 0, 4) === "RIFF" && /^WEBPVP8[ LX]$/.test(textAt(bytes, 8, 8));
  return isWebp ? "image/webp" : null;
};

/** Brands that say how an MP4 file is built. Cameras put their own names before these. */
const MP4_BRANDS = /^(isom|iso[2-9]|mp41|mp42|avc1|M4V |M4VH|M4VP|dash|msdh|MSNV|mmp4)$/;
const QUICKTIME_BRAND = "qt  ";
const AUDIO_BRANDS = /^(M4A |M4B )$/;
/** Brands of still images in the same container: HEIC, HEIF, AVIF and Canon's CR3. They decide at any position. */
const IMAGE_BRANDS = /^(hei[cxms]|hev[cxms]|mif[12]|msf1|mi[ah][fb]|avi[fos]|crx |jpeg|jpgs|jxl )$/;

/** The boxes of a QuickTime file, which need not begin with `ftyp` (QuickTime File Format Specification, 2001). */
const QUICKTIME_BOXES = ["moov", "mdat", "wide", "free", "skip", "pnot"];
/** The boxes that can come before `ftyp`. */
const FILLERS = ["wide", "free", "skip"];
/** The value 1 announces a size of 64 bits. Text at this place reads as a number above the maximum size of a video. */
const isBoxSize = (size: number): boolean => size === 1 || (size >= 8 && size <= ASSET_LIMITS.video.maxBytes);

/**
 * The name and the offset of the first box that is not a filler; null without one. A filler is returned only when no
 * box follows it.
 */
const firstBox = (bytes: Uint8Array): { name: string; at: number } | null => {
  let found: { name: string; at: number } | null = null;
  for (let at = 0; ; ) {
    const [name, size] = [textAt(bytes, at + 4, 4), uint32At(bytes, at)];
    if (name.length < 4 || !isBoxSize(size)) return found;
    found = { name, at };
    if (!FILLERS.includes(name) || size === 1) return found;
    at += size;
  }
};

/** The brands of the `ftyp` box of a file: the major brand first. Empty without such a box. */
export const readBrands = (bytes: Uint8Array): string[] => {
  const box = firstBox(bytes);
  if (box?.name !== "ftyp") return [];
  const { at } = box;
  const size = uint32At(bytes, at);
  if (size < 16 || size > MAGIC_BYTES || size % 4 !== 0) return [];
  const brands = [textAt(bytes, at + 8, 4)];
  // The minor version follows the major brand.
  for (let offset = at + 16; offset < Math.min(at + size, bytes.length); offset += 4) {
    brands.push(textAt(bytes, offset, 4));
  }
  return brands;
};

const MP4: Magic = { kind: "video", contentType: "video/mp4" };
const QUICKTIME: Magic = { kind: "video", contentType: "video/quicktime" };

/** A known major brand decides; otherwise a compatible brand of the file does. */
const isobmffType = (bytes: Uint8Array): Magic | null => {
  const brands = readBrands(bytes);
  const [major = ""] = brands;
  if (brands.some((brand) => IMAGE_BRANDS.test(brand))) return null;
  if (major === QUICKTIME_BRAND) return QUICKTIME;
  if (AUDIO_BRANDS.test(major)) return { kind: "audio", contentType: "audio/mp4" };
  if (brands.some((brand) => MP4_BRANDS.test(brand))) return MP4;
  if (brands.includes(QUICKTIME_BRAND)) return QUICKTIME;
  return QUICKTIME_BOXES.includes(firstBox(bytes)?.name ?? "") ? QUICKTIME : null;
};

/** An EBML variable-length integer: its value without the length marker, and its length in bytes. */
const vintAt = (bytes: Uint8Array, offset: number): { value: number; length: number } | null => {
  const first = bytes[offset] ?? 0;
  const length = Math.clz32(first) - 23;
  // A header of this size needs at most four bytes.
  if (first === 0 || length > 4 || offset + length > bytes.length) return null;
  let value = first & (0xff >> length);
  for (let index = 1; index < length; index += 1) value = value * 256 + (bytes[offset + index] ?? 0);
  return { value, length };
};

const DOC_TYPE_ID = [0x42, 0x82];

/** The DocType of the EBML header that a file begins with: `webm`, `matroska`; `null` without one. */
export const readDocType = (bytes: Uint8Array): string | null => {
  if (!hasBytes(bytes, 0, [0x1a, 0x45, 0xdf, 0xa3])) return null;
  const header = vintAt(bytes, 4);
  if (!header) return null;
  let offset = 4 + header.length;
  const end = Math.min(offset + header.value, bytes.length);
  while (offset < end) {
    const id = vintAt(bytes, offset);
    const size = id && vintAt(bytes, offset + id.length);
    if (!id || !size) return null;
    const content = offset + id.length + size.length;
    if (hasBytes(bytes, offset, DOC_TYPE_ID)) {
      return content + size.value <= end ? textAt(bytes, content, size.value).replace(/\0+$/, "") : null;
    }
    offset = content + size.value;
  }
  return null;
};

/** Whether a header of an MPEG audio frame of layer III is at `offset`: no reserved version, bit rate or sample rate. */
const isMp3Frame = (bytes: Uint8Array, offset: number): boolean => {
  const [first = 0, second = 0, third = 0] = bytes.subarray(offset, offset + 3);
  const isLayer3 = first === 0xff && (second & 0xe6) === 0xe2 && (second & 0x18) !== 0x08;
  const bitRate = third >> 4;
  return isLayer3 && bitRate !== 0 && bitRate !== 15 && (third & 0x0c) !== 0x0c;
};

/** Whether an ADTS header is at the start: sync word, layer 0, a known sample rate. */
const isAdts = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xf6) === 0xf0 && (((bytes[2] ?? 0xff) >> 2) & 15) <= 12;

/** The first page of an Ogg stream with an audio codec; Theora and Skeleton streams are not audio. */
const isOggAudio = (bytes: Uint8Array): boolean => {
  if (textAt(bytes, 0, 5) !== "OggS\0") return false;
  const payload = 27 + (bytes[26] ?? 0);
  const start = textAt(bytes, payload, 8);
  return ["OpusHead", "\x01vorbis", "\x7fFLAC"].some((codec) => start.startsWith(codec));
};

const audioType = (bytes: Uint8Array): ContentType<"audio"> | null => {
  if (textAt(bytes, 0, 4) === "RIFF" && textAt(bytes, 8, 4) === "WAVE") return "audio/wav";
  if (isOggAudio(bytes)) return "audio/ogg";
  if (textAt(bytes, 0, 4) === "fLaC") return "audio/flac";
  if (textAt(bytes, 0, 3) === "ID3" && bytes.length >= 10) return "audio/mpeg";
  if (isMp3Frame(bytes, 0)) return "audio/mpeg";
  return isAdts(bytes) ? "audio/aac" : null;
};

/**
 * The kind and the content type of a file, from its first `MAGIC_BYTES` bytes, or from the whole file when it is shorter.
 * `null` for a type that is not accepted.
 */
export const detectContentType = (firstBytes: Uint8Array): Magic | null => {
  const bytes = firstBytes.subarray(0, MAGIC_BYTES);
  const image = imageType(bytes);
  if (image) return { kind: "image", contentType: image };
  const video = isobmffType(bytes);
  if (video) return video;
  if (readDocType(bytes) === "webm") return { kind: "video", contentType: "video/webm" };
  const audio = audioType(bytes);
  return audio && { kind: "audio", contentType: audio };
};
