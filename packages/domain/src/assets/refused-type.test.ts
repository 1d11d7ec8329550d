import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { describeRefusedType, TYPE_NAMES } from "./refused-type.ts";

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");
const ftyp = (...brands: string[]): Uint8Array =>
  latin1(`\0\0\0${String.fromCharCode(12 + 4 * brands.length)}ftyp${brands[0]}\0\0\0\0${brands.slice(1).join("")}`);
const ebml = (type: string): Uint8Array =>
  latin1(
    `\x1a\x45\xdf\xa3${String.fromCharCode(0x83 + type.length)}\x42\x82${String.fromCharCode(0x80 | type.length)}${type}`,
  );
/** The sentences of the error before the accepted types. */
const said = (bytes: Uint8Array, kinds: Parameters<typeof describeRefusedType>[1] = ["image", "video", "audio"]) =>
  describeRefusedType(bytes, kinds).replace(/ ?Accepted: .*/, "");

const AS_JPEG = "Export it as JPEG.";
const AS_PNG = "Export it as PNG.";
const AS_MP4 = "Convert it to MP4 with the codec H.264.";

test.each([
  ["HEIC of a phone", ftyp("heic", "mif1", "MiHB", "MiHE", "miaf", "heic", "tmap"), `This is a HEIC photo. ${AS_JPEG}`],
  ["HEIC by its compatible brand", ftyp("mif1", "heic"), `This is a HEIC photo. ${AS_JPEG}`],
  ["AVIF", ftyp("avif", "mif1", "miaf"), `This is an AVIF image. ${AS_JPEG}`],
  ["HEIF", ftyp("mif1"), `This is a HEIF photo. ${AS_JPEG}`],
  ["CR3", ftyp("crx ", "isom"), `This is a raw photo of a camera. ${AS_JPEG}`],
  ["GIF", latin1("GIF89a\x01\0\x01\0"), "This is a GIF image. Export one picture of it as PNG."],
  ["BMP", latin1("BM\x36\0\x0c\0\0\0\0\0\x36\0\0\0"), `This is a BMP image. ${AS_PNG}`],
  ["TIFF", latin1("II*\0\x08\0\0\0"), `This is a TIFF image or a raw photo of a camera. ${AS_JPEG}`],
  [
    "TIFF, the other byte order",
    latin1("MM\0*\0\0\0\x08"),
    `This is a TIFF image or a raw photo of a camera. ${AS_JPEG}`,
  ],
  ["SVG", latin1('<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="x">'), `This is an SVG drawing. ${AS_PNG}`],
  ["JPEG XL", latin1("\xff\x0a\xfa\x1f"), `This is a JPEG XL image. ${AS_JPEG}`],
  ["JPEG 2000", latin1("\0\0\0\x0cjP  \r\n\x87\n"), `This is a JPEG 2000 image. ${AS_JPEG}`],
  ["Photoshop", latin1("8BPS\0\x01"), `This is a Photoshop file. ${AS_JPEG}`],
  ["icon", latin1("\0\0\x01\0\x01\0\x10\x10"), `This is an icon. ${AS_PNG}`],
  ["3GP", ftyp("3gp4", "3gp6"), `This is a 3GP video. ${AS_MP4}`],
  ["MP4 of another brand", ftyp("dvr1"), `This is a file of a kind of MP4 that is not accepted. ${AS_MP4}`],
  ["Matroska", ebml("matroska"), `This is a Matroska video (MKV). ${AS_MP4}`],
  ["AVI", latin1("RIFF\x24\0\0\0AVI LIST"), `This is an AVI video. ${AS_MP4}`],
  ["Windows Media", latin1("\x30\x26\xb2\x75\x8e\x66\xcf\x11"), `This is a Windows Media file. ${AS_MP4}`],
  ["MPEG", latin1("\0\0\x01\xba\x44"), `This is an MPEG video. ${AS_MP4}`],
  ["Theora", latin1(`OggS${"\0".repeat(24)}\x80theora`), `This is an Ogg video. ${AS_MP4}`],
  ["AIFF", latin1("FORM\0\0\0\x10AIFFCOMM"), "This is an AIFF audio file. Convert it to MP3."],
  ["PDF", latin1("%PDF-1.7\n%\xe2\xe3"), "This is a PDF document. Export its picture as JPEG."],
  [
    "ZIP",
    latin1("PK\x03\x04\x14\0"),
    "This is a ZIP archive or a document. Send the picture, video or sound that is in it.",
  ],
  [
    "HTML",
    latin1("\n<!DOCTYPE html><title>x"),
    "This is a page of HTML. Send the file itself, not the page that shows it.",
  ],
  ["text", Buffer.from("Grüße, ".repeat(100)), "This is a text."],
  ["text that begins as a BMP", latin1("BM is short for bitmap."), "This is a text."],
  ["text in UTF-16", Buffer.from("\ufeffhello", "utf16le"), "This is a text."],
  ["JSON", latin1('{"image": "heic"}'), "This is a text."],
  ["nothing", latin1(""), "The file is empty."],
  ["a program", latin1("\x7fELF\x02\x01\x01\0\0\0"), "The type of the file is not known, or the file is damaged."],
  ["zeros", new Uint8Array(600), "The type of the file is not known, or the file is damaged."],
])("a file of a refused type, %s: the error names the type and how to convert the file", (_, bytes, expected) => {
  expect(said(bytes)).toBe(expected);
});

describe("a purpose", () => {
  test("a photo where a video is needed: no advice for photos, and only the types of videos", () => {
    expect(describeRefusedType(ftyp("heic"), ["video"])).toBe("This is a HEIC photo. Accepted: MP4, MOV or WebM.");
    expect(describeRefusedType(ftyp("heic"), ["image"])).toBe(
      "This is a HEIC photo. Export it as JPEG. Accepted: JPEG, PNG or WebP.",
    );
  });

  test("a file of a type that another kind accepts: the error names its type", () => {
    expect(describeRefusedType(latin1("ID3\x04\0\0\0\0\0\0"), ["image", "video"])).toBe(
      "This is an MP3 audio file. Accepted: image (JPEG, PNG or WebP), video (MP4, MOV or WebM).",
    );
    expect(said(ftyp("qt  "), ["image"])).toBe("This is a MOV video.");
  });
});

test("any bytes, random: a sentence, without the bytes", () => {
  const starts = ["", "RIFF", "OggS", "\0\0\0\x18ftyp", "\x1a\x45\xdf\xa3", "<", "\xff\xfe", "FORM"].map(latin1);
  const anyBytes = fc.tuple(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 700 }));
  const words = new RegExp(
    `^[A-Z][\\w .,()/-]+\\. Accepted: ${Object.values(TYPE_NAMES).slice(0, 2).join(", ")} or WebP\\.$`,
  );
  fc.assert(
    fc.property(anyBytes, ([start, rest]) => {
      expect(describeRefusedType(Buffer.concat([start, rest]), ["image"])).toMatch(words);
    }),
    { numRuns: 300, seed: 7 },
  );
});
