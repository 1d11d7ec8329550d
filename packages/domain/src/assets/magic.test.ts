import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ASSET_LIMITS } from "./limits.ts";
import { detectContentType, MAGIC_BYTES } from "./magic.ts";

/** Bytes of the parts: text is Latin-1. */
const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Uint8Array.from(
    parts.flatMap((part) => (typeof part === "string" ? Buffer.from(part, "latin1").toJSON().data : part)),
  );

const size = (value: number): number[] => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
const ftyp = (major: string, ...compatible: string[]) =>
  bytes(size(16 + 4 * compatible.length), "ftyp", major, size(512), ...compatible);
const ebml = (docType: string) =>
  bytes(
    [0x1a, 0x45, 0xdf, 0xa3, 0x80 | (7 + docType.length)],
    [0x42, 0x86, 0x81, 1],
    [0x42, 0x82, 0x80 | docType.length],
    docType,
  );
const ogg = (payload: string) => bytes("OggS", [0, 2], new Array<number>(20).fill(0), [1, payload.length], payload);
const png = bytes([0x89], "PNG\r\n", [0x1a], "\n", size(13), "IHDR");
const jpeg = bytes([0xff, 0xd8, 0xff, 0xe0], size(16), "JFIF");

describe("a recognized content type", () => {
  test.each([
    ["image/jpeg", jpeg],
    ["image/png", png],
    ["image/webp", bytes("RIFF", size(99), "WEBPVP8 ")],
    ["image/webp", bytes("RIFF", size(99), "WEBPVP8L")],
    ["image/webp", bytes("RIFF", size(99), "WEBPVP8X")],
    ["video/mp4", ftyp("isom", "isom", "iso2", "avc1", "mp41")],
    ["video/mp4", ftyp("mp42")],
    // Names that only some cameras use.
    ["video/mp4", ftyp("XAVC", "XAVC", "mp42", "iso2")],
    ["video/mp4", ftyp("3gp5", "isom")],
    ["video/mp4", bytes(size(16), "free", size(0), size(0), [...ftyp("mp42")])],
    ["video/quicktime", ftyp("qt  ", "qt  ")],
    ["video/quicktime", ftyp("niko", "qt  ")],
    // QuickTime without brands, as old cameras write it.
    ["video/quicktime", bytes(size(9000), "moov", size(108), "mvhd")],
    ["video/quicktime", bytes(size(8), "wide", size(9000), "mdat")],
    ["video/quicktime", bytes(size(8), "wide", size(1), "mdat", size(0), size(9000))],
    ["video/quicktime", bytes(size(512), "skip", new Array<number>(504).fill(0))],
    ["video/quicktime", bytes(size(20), "pnot", size(0))],
    ["video/webm", ebml("webm")],
    ["audio/mp4", ftyp("M4A ", "isom")],
    ["audio/mpeg", bytes("ID3", [4, 0, 0, 0, 0, 0, 0])],
    ["audio/mpeg", bytes([0xff, 0xfb, 0x90, 0x00])],
    ["audio/mpeg", bytes([0xff, 0xf3, 0x40, 0x00])],
    ["audio/aac", bytes([0xff, 0xf1, 0x50, 0x80])],
    ["audio/wav", bytes("RIFF", size(99), "WAVEfmt ")],
    ["audio/ogg", ogg("OpusHead")],
    ["audio/ogg", ogg("\x01vorbis")],
    ["audio/ogg", ogg("\x7fFLAC")],
    ["audio/flac", bytes("fLaC", [0])],
  ])("a file, of type %s: recognized", (contentType, file) => {
    const [kind = ""] = contentType.split("/");
    expect(detectContentType(file)).toEqual({ kind, contentType } as never);
  });

  test("the types of the table: each has a test", () => {
    // The types of the rows above. A type added to the table needs a row.
    const known = "image/jpeg image/png image/webp video/mp4 video/quicktime video/webm".split(" ");
    const audio = "audio/mpeg audio/wav audio/mp4 audio/aac audio/ogg audio/flac".split(" ");
    expect(Object.values(ASSET_LIMITS).flatMap(({ contentTypes }) => [...contentTypes] as string[])).toEqual([
      ...known,
      ...audio,
    ]);
  });
});

test.each([
  ["nothing", bytes()],
  ["one byte", bytes([0xff])],
  ["HTML", bytes("<!doctype html><script>")],
  ["SVG", bytes('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ["XML", bytes("<?xml version='1.0'?>")],
  ["GIF", bytes("GIF89a")],
  ["a GIF that is a JAR as well", bytes("GIF89a", size(0), "PK\x03\x04")],
  ["PDF", bytes("%PDF-1.7 ", jpeg.length > 0 ? [...jpeg] : [])],
  ["ZIP", bytes("PK\x03\x04")],
  ["a picture after HTML", bytes("<script>", [...png])],
  ["BMP", bytes("BM", size(0))],
  ["TIFF", bytes("II*\0")],
  ["a playlist", bytes("#EXTM3U\n#EXT-X-VERSION:3\n")],
  ["HEIC", ftyp("heic", "mif1", "heic")],
  ["HEIC that claims to be MP4", ftyp("isom", "mp41", "heic")],
  ["AVIF", ftyp("avif", "mif1")],
  ["HEIF", ftyp("mif1", "isom")],
  ["3GP", ftyp("3gp4")],
  ["unknown brands", ftyp("abcd", "efgh")],
  ["HEIC with a brand that only one camera uses", ftyp("abcd", "isom", "heic")],
  ["a text at the place of a box", bytes("the moov")],
  ["a box of the wrong size", bytes(size(7), "ftyp", "isom", size(0))],
  ["a box that is too long", bytes(size(2 ** 20), "ftyp", "isom", size(0))],
  ["Matroska", ebml("matroska")],
  ["WebM as a longer name", ebml("webmx")],
  ["EBML without a type", bytes([0x1a, 0x45, 0xdf, 0xa3, 0x84, 0x42, 0x86, 0x81, 1])],
  ["EBML whose type is cut off", ebml("webm").subarray(0, -1)],
  ["AVI", bytes("RIFF", size(99), "AVI LIST")],
  ["WebP of an unknown form", bytes("RIFF", size(99), "WEBPXXXX")],
  ["PNG without its header", bytes([0x89], "PNG\r\n", [0x1a], "\n", size(4), "IDAT")],
  ["Theora", ogg("\x80theora")],
  ["UTF-16 text", bytes([0xff, 0xfe], "h\0i\0")],
  ["MPEG audio of layer I", bytes([0xff, 0xff, 0x90, 0])],
  ["MP3 with a reserved sample rate", bytes([0xff, 0xfb, 0x9c, 0])],
  ["a program", bytes([0x7f], "ELF")],
])("a file, %s: null", (_, file) => {
  expect(detectContentType(file)).toBeNull();
});

test("a polyglot, of two types: has the type of its first bytes", () => {
  const page = bytes("<script>alert(1)</script>");
  expect(detectContentType(bytes([...jpeg], [...page]))).toEqual({ kind: "image", contentType: "image/jpeg" });
  expect(detectContentType(bytes([...png], "PK\x03\x04", "%PDF-1.7"))).toEqual({
    kind: "image",
    contentType: "image/png",
  });
});

test("a view, at an offset: read from this offset, up to MAGIC_BYTES", () => {
  const all = bytes("xxxx", [...png], new Array<number>(4096).fill(0));
  expect(detectContentType(all.subarray(4))?.contentType).toBe("image/png");
  expect(detectContentType(ogg("OpusHead").subarray(0, MAGIC_BYTES))?.contentType).toBe("audio/ogg");
});

test("any bytes, random: no exception", () => {
  const prefixes = [png, jpeg, ftyp("isom", "mp41"), ebml("webm"), ogg("OpusHead"), bytes("RIFF"), bytes([0xff])];
  fc.assert(
    fc.property(fc.constantFrom(...prefixes), fc.nat(64), fc.uint8Array({ maxLength: 600 }), (prefix, cut, rest) => {
      const magic = detectContentType(Uint8Array.from([...prefix.subarray(0, cut), ...rest]));
      expect(magic === null || magic.contentType.startsWith(`${magic.kind}/`)).toBe(true);
    }),
    { numRuns: 2000, seed: 1 },
  );
});
