/** The text about a file whose type is not accepted: the type, by the first bytes, and how to convert the file. */
import { ASSET_LIMITS, type AssetKind, type ContentType } from "./limits.ts";
import { detectContentType, hasBytes, MAGIC_BYTES, readBrands, readDocType, textAt } from "./magic.ts";

/** The common names of the types. */
export const TYPE_NAMES: Record<ContentType, string> = {
  "image/jpeg": "JPEG",
  "image/png": "PNG",
  "image/webp": "WebP",
  "video/mp4": "MP4",
  "video/quicktime": "MOV",
  "video/webm": "WebM",
  "audio/mpeg": "MP3",
  "audio/wav": "WAV",
  "audio/mp4": "M4A",
  "audio/aac": "AAC",
  "audio/ogg": "Ogg",
  "audio/flac": "FLAC",
};

/** `JPEG, PNG or WebP` */
export const acceptedTypesText = (kind: AssetKind): string => {
  const names = ASSET_LIMITS[kind].contentTypes.map((type) => TYPE_NAMES[type]);
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
};

/** `remedy`: how to convert it to an accepted type of `kind`. */
type Refused = { name: string; kind: AssetKind | null; remedy: string };

const image = (name: string, remedy = "Export it as JPEG."): Refused => ({ name, kind: "image", remedy });
const video = (name: string): Refused => ({ name, kind: "video", remedy: "Convert it to MP4 with the codec H.264." });
const audio = (name: string): Refused => ({ name, kind: "audio", remedy: "Convert it to MP3." });
const other = (name: string, remedy = ""): Refused => ({ name, kind: null, remedy });

/** A file in the container of MP4 and HEIC; null for another container or an unknown brand. */
const isobmff = (bytes: Uint8Array): Refused | null => {
  const brands = readBrands(bytes);
  const has = (pattern: RegExp): boolean => brands.some((brand) => pattern.test(brand));
  if (has(/^(hei[cxms]|hev[cxms])$/)) return image("a HEIC photo");
  if (has(/^avi[fos]$/)) return image("an AVIF image");
  if (has(/^crx $/)) return image("a raw photo of a camera");
  if (has(/^jxl $/)) return image("a JPEG XL image");
  if (has(/^(mif[12]|msf1|mi[ah][fb])$/)) return image("a HEIF photo");
  return has(/^3g[a-z]\w$/) ? video("a 3GP video") : null;
};

const ANY = "?";
/** Signatures at the start of files, in Latin-1; `ANY` stands for any character. */
const SIGNATURES: readonly [start: string, Refused][] = [
  ["GIF8?a", image("a GIF image", "Export one picture of it as PNG.")],
  ["BM????\0\0\0\0", image("a BMP image", "Export it as PNG.")],
  ["II*\0", image("a TIFF image or a raw photo of a camera")],
  ["MM\0*", image("a TIFF image or a raw photo of a camera")],
  ["8BPS", image("a Photoshop file")],
  ["\0\0\x01\0", image("an icon", "Export it as PNG.")],
  ["\xff\x0a", image("a JPEG XL image")],
  ["\0\0\0\x0cJXL ", image("a JPEG XL image")],
  ["\0\0\0\x0cjP  ", image("a JPEG 2000 image")],
  ["\xff\x4f\xff\x51", image("a JPEG 2000 image")],
  ["RIFF????AVI ", video("an AVI video")],
  ["FLV\x01", video("a Flash video")],
  ["\x30\x26\xb2\x75\x8e\x66\xcf\x11", video("a Windows Media file")],
  ["\0\0\x01\xb3", video("an MPEG video")],
  ["\0\0\x01\xba", video("an MPEG video")],
  [`G${ANY.repeat(187)}G`, video("an MPEG transport stream")],
  [`OggS${ANY.repeat(24)}\x80theora`, video("an Ogg video")],
  ["FORM????AIF", audio("an AIFF audio file")],
  ["#!AMR", audio("an AMR audio file")],
  ["%PDF-", other("a PDF document", "Export its picture as JPEG.")],
  ["PK\x03\x04", other("a ZIP archive or a document", "Send the picture, video or sound that is in it.")],
];

const beginsAs = (start: string, signature: string): boolean =>
  start.length >= signature.length &&
  [...signature].every((character, at) => character === ANY || character === start[at]);

/** The start of a text, without the marks of its encoding; null for other files. */
const asText = (bytes: Uint8Array): string | null => {
  const isUtf16 = hasBytes(bytes, 0, [0xff, 0xfe]) || hasBytes(bytes, 0, [0xfe, 0xff]);
  const decoder = new TextDecoder(!isUtf16 ? "utf-8" : bytes[0] === 0xff ? "utf-16le" : "utf-16be", { fatal: true });
  try {
    // `stream`, because the last character may be cut off.
    const text = decoder.decode(bytes, { stream: true });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: text contains none of these
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text;
  } catch {
    return null;
  }
};

const ofText = (text: string): Refused => {
  if (/<svg[\s>]/i.test(text)) return image("an SVG drawing", "Export it as PNG.");
  if (/^\s*<(!doctype html|html|head|body|script)\b/i.test(text)) {
    return other("a page of HTML", "Send the file itself, not the page that shows it.");
  }
  return other("a text");
};

/** The name of a refused file's type; null when unknown. */
const identify = (bytes: Uint8Array): Refused | null => {
  const accepted = detectContentType(bytes);
  if (accepted !== null) {
    const name = TYPE_NAMES[accepted.contentType];
    const article = /^(A|M[4P])/.test(name) ? "an" : "a";
    return other(`${article} ${name} ${accepted.kind === "audio" ? "audio file" : accepted.kind}`);
  }
  const known = isobmff(bytes);
  if (known !== null) return known;
  if (readDocType(bytes) === "matroska") return video("a Matroska video (MKV)");
  const start = textAt(bytes, 0, MAGIC_BYTES);
  const signature = SIGNATURES.find(([signature]) => beginsAs(start, signature));
  if (signature !== undefined) return signature[1];
  if (textAt(bytes, 4, 4) === "ftyp") return video("a file of a kind of MP4 that is not accepted");
  const text = asText(bytes);
  return text === null ? null : ofText(text);
};

const acceptedOf = (kinds: readonly AssetKind[]): string => {
  const [only, ...others] = kinds;
  if (only !== undefined && others.length === 0) return acceptedTypesText(only);
  return kinds.map((kind) => `${kind} (${acceptedTypesText(kind)})`).join(", ");
};

/**
 * The reason why a file cannot be one of these kinds, with advice for people: `This is a HEIC photo. Export it as JPEG.
 * Accepted: JPEG, PNG or WebP.` `firstBytes`: the first `MAGIC_BYTES` bytes, or the whole file when it is shorter.
 */
export const describeRefusedType = (firstBytes: Uint8Array, kinds: readonly AssetKind[]): string => {
  const bytes = firstBytes.subarray(0, MAGIC_BYTES);
  const accepted = `Accepted: ${acceptedOf(kinds)}.`;
  if (bytes.length === 0) return `The file is empty. ${accepted}`;
  const refused = identify(bytes);
  if (refused === null) return `The type of the file is not known, or the file is damaged. ${accepted}`;
  const { name, kind, remedy } = refused;
  // A photo does not help a person who needs a video.
  const isUseful = remedy !== "" && (kind === null || kinds.includes(kind));
  return [`This is ${name}.`, ...(isUseful ? [remedy] : []), accepted].join(" ");
};
