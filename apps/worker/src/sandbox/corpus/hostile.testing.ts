/** Files that a decoder or a reader of containers must survive, with the expected outcome of each. */
import { seededBytes } from "@realtime-avatar/testing/random-bytes";
import * as images from "./images.testing.ts";
import * as media from "./media.testing.ts";

export type HostileFile = {
  name: string;
  /** Made on demand, because some take a second. */
  bytes: () => Buffer | Promise<Buffer>;
  /** `any`: a damaged file can still be readable. The outcome is `failed` only for a limit. */
  expected: "accepted" | "refused" | "any";
};

/** How many files are opened at a time, as by a worker with two cores. */
const CONCURRENCY = 2;

/** The outcomes of `open` for all files. */
export const openAll = async <Outcome>(
  files: readonly HostileFile[],
  open: (file: HostileFile, bytes: Buffer) => Promise<Outcome>,
): Promise<[HostileFile, Outcome][]> => {
  const results: [HostileFile, Outcome][] = [];
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      results.push([file, await open(file, await file.bytes())]);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return results;
};

const MIB = 1024 * 1024;

const box = (type: string, ...contents: Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, content]);
};
const ftyp = box("ftyp", Buffer.from("isom\0\0\x02\0isomiso2avc1mp41", "latin1"));
const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
};
/** A box with a wrong size. */
const claiming = (type: string, size: number, ...contents: Uint8Array[]): Buffer => {
  const made = box(type, ...contents);
  made.writeUInt32BE(size);
  return made;
};

/** The valid files, by name: each is accepted. */
export const validFiles = async (): Promise<Record<string, Buffer>> => ({
  "a.jpg": await images.jpeg(),
  "progressive.jpg": await images.picture().jpeg({ progressive: true }).toBuffer(),
  "gps.jpg": await images.tagged(),
  "cmyk.jpg": await images.picture().toColourspace("cmyk").jpeg().toBuffer(),
  "a.png": await images.png(),
  "16-bit.png": await images.picture().toColourspace("rgb16").png().toBuffer(),
  "interlaced.png": await images.picture().png({ progressive: true }).toBuffer(),
  "a.webp": await images.webp(),
  "lossless.webp": await images.picture().webp({ lossless: true }).toBuffer(),
  "a.mp4": await media.video(),
  "a.mov": await media.video({ container: "mov" }),
  "a.webm": await media.video({ container: "webm" }),
  "a.m4a": await media.m4a(),
  "a.opus": await media.opus(),
  "a.wav": media.wav(),
  "a.mp3": media.mp3(),
  "a.aac": media.adts(),
  "a.flac": media.flac(),
});

const wrongTypes = (): HostileFile[] =>
  Object.entries({
    "empty.jpg": () => Buffer.alloc(0),
    "zeros.png": () => Buffer.alloc(1000),
    "page.jpg": () => Buffer.from("<!doctype html><script>alert(1)</script>"),
    "picture.svg": () =>
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
    "entities.svg": () => Buffer.from('<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>'),
    "a.gif": () => images.gif(),
    "gifar.gif": async () => Buffer.concat([await images.gif(), Buffer.from("PK\x03\x04")]),
    "a.tiff": () => images.picture().tiff().toBuffer(),
    "a.avif": () => images.picture().avif({ effort: 0 }).toBuffer(),
    "document.jpg": async () => Buffer.concat([Buffer.from("%PDF-1.7\n"), await images.jpeg()]),
    "playlist.mp4": () => Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n"),
    "playlist-after-ftyp.mp4": () => Buffer.concat([ftyp, Buffer.from("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n")]),
    "concat.mp4": () => Buffer.from("ffconcat version 1.0\nfile /etc/passwd\n"),
    "animated.webp": () => images.animatedWebp(),
    "animated.png": () => images.apng(),
  }).map(([name, bytes]) => ({ name, bytes, expected: "refused" }));

const polyglots = (): HostileFile[] => {
  const page = Buffer.from("<html><script>alert(1)</script></html>");
  return Object.entries({
    "page-after.jpg": async () => Buffer.concat([await images.jpeg(), page]),
    "archive-after.png": async () => Buffer.concat([await images.png(), Buffer.from("PK\x03\x04"), Buffer.alloc(100)]),
    "document-after.webp": async () => Buffer.concat([await images.webp(), Buffer.from("%PDF-1.7")]),
  }).map(([name, bytes]) => ({ name, bytes, expected: "accepted" }));
};

const bombs = (): HostileFile[] => [
  {
    name: "30000x30000.png",
    bytes: () => images.rawPng({ width: 30_000, height: 30_000, bits: 1 }),
    expected: "refused",
  },
  { name: "65500x65500.jpg", bytes: () => images.resizedJpeg(65_500, 65_500), expected: "refused" },
  { name: "6300x6300.jpg", bytes: () => images.resizedJpeg(6300, 6300), expected: "refused" },
  { name: "16383x16383.webp", bytes: () => images.emptyWebp(16_383), expected: "refused" },
  { name: "icc.png", bytes: () => images.iccBomb(200 * MIB), expected: "any" },
  { name: "text.png", bytes: () => images.textBomb(200 * MIB), expected: "any" },
  { name: "many-chunks.png", bytes: () => images.manyChunks(200_000), expected: "any" },
  { name: "many-scans.jpg", bytes: () => images.manyScans(1000), expected: "any" },
  // A permitted image that needs the maximum memory.
  {
    name: "largest.png",
    bytes: () => images.rawPng({ width: 6300, height: 6300, bits: 16, color: 6 }),
    expected: "accepted",
  },
];

/** Boxes of MP4 files with a wrong size or a wrong number of entries. */
const hostileBoxes = (): HostileFile[] => {
  let nested: Buffer = Buffer.alloc(0);
  for (let depth = 0; depth < 3000; depth += 1) nested = box("moov", nested);
  const stbl = (...tables: Buffer[]): Buffer =>
    box("moov", box("trak", box("mdia", box("minf", box("stbl", ...tables)))));
  const huge = 0xffff_ffff;
  return Object.entries({
    "huge-box.mp4": () => claiming("moov", huge),
    "huge-64-bit-box.mp4": () => claiming("moov", 1, words(0x7fff_ffff, huge)),
    "endless-moov.mp4": () => claiming("moov", 0, Buffer.alloc(1000)),
    "endless-mdat.mp4": () => claiming("mdat", 0, Buffer.alloc(1000)),
    "empty-boxes.mp4": () => Buffer.concat(new Array<Buffer>(100_000).fill(box("free"))),
    "small-box.mp4": () => claiming("moov", 3, Buffer.alloc(100)),
    "nested-moov.mp4": () => nested,
    "many-tracks.mp4": () => box("moov", ...new Array<Buffer>(20_000).fill(box("trak"))),
    "many-samples.mp4": () => stbl(box("stsz", words(0, 1, huge)), box("stts", words(0, 1, huge, 1))),
    "many-entries.mp4": () =>
      stbl(box("stts", words(0, huge)), box("stsc", words(0, huge)), box("stco", words(0, huge))),
    "many-descriptions.mp4": () => stbl(box("stsd", words(0, huge), box("avc1", Buffer.alloc(100)))),
  }).map(([name, bytes]) => ({ name, bytes: () => Buffer.concat([ftyp, bytes()]), expected: "refused" }));
};

/** A video whose tables are replaced by ones with 2^32 - 1 entries in the right place. */
const hostileTables = async (): Promise<HostileFile[]> => {
  const file = await media.video();
  return ["stts", "stsz", "stsc", "stco", "elst", "stsd", "stss", "mdhd", "tkhd", "mvhd"].flatMap((table) => {
    const at = file.indexOf(table);
    if (at < 0) return [];
    return [4, 8, 12, 16].map((offset): HostileFile => {
      const bytes = Buffer.from(file);
      bytes.writeUInt32BE(0xffff_ffff, at + offset);
      return { name: `${table}-${offset}.mp4`, bytes: () => bytes, expected: "any" };
    });
  });
};

const audio = (): HostileFile[] => {
  const wav = media.wav();
  const patched = (offset: number, value: number, size: number): Buffer => {
    const bytes = Buffer.from(wav);
    bytes.writeUIntLE(value, offset, size);
    return bytes;
  };
  const id3 = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0x7f, 0x7f, 0x7f, 0x7f]);
  return Object.entries({
    "huge-data.wav": () => patched(40, 0xffff_ffff, 4),
    "no-channels.wav": () => patched(22, 0, 2),
    "no-rate.wav": () => patched(24, 0, 4),
    "no-block.wav": () => patched(32, 0, 2),
    "huge-id3.mp3": () => Buffer.concat([id3, media.mp3(4)]),
    "only-id3.mp3": () => id3,
    "one-frame.mp3": () => media.mp3(1),
  }).map(([name, bytes]) => ({ name, bytes, expected: "any" }));
};

/** Prefixes of the valid files, among them those that end in the middle of a header. */
const truncated = (files: Record<string, Buffer>, cuts: readonly number[]): HostileFile[] =>
  Object.entries(files).flatMap(([name, bytes]) =>
    cuts.map((share) => ({
      name: `${Math.round(share * 100)}-percent-${name}`,
      bytes: () => bytes.subarray(0, Math.floor(bytes.length * share)),
      expected: "any" as const,
    })),
  );

/** Valid files with random bytes in random places, the same in each run. */
const mutated = (files: Record<string, Buffer>, perFile: number): HostileFile[] =>
  Object.entries(files).flatMap(([name, original]) => {
    const random = seededBytes(name);
    const below = (limit: number): number => Buffer.from(random(4)).readUInt32LE() % limit;
    return Array.from({ length: perFile }, (_, number): HostileFile => {
      const bytes = Buffer.from(original);
      // A decoder decides mostly by the bytes at the start.
      const range = number % 2 === 0 ? Math.min(600, bytes.length) : bytes.length;
      for (let count = 1 + below(8); count > 0; count -= 1) bytes[below(range)] = below(256);
      return { name: `mutation-${number}-${name}`, bytes: () => bytes, expected: "any" };
    });
  });

/** All files: about 40 in the sample, at least 200 in full. */
export const hostileFiles = async (isFull: boolean): Promise<HostileFile[]> => {
  const files = await validFiles();
  const named = [...wrongTypes(), ...polyglots(), ...bombs(), ...hostileBoxes(), ...audio()];
  const generated = [
    ...truncated(files, [0.02, 0.1, 0.5, 0.9, 0.99]),
    ...(await hostileTables()),
    ...mutated(files, 6),
  ];
  if (isFull) return [...named, ...generated];
  // Every seventh: 7 shares no factor with the numbers of cuts and mutations.
  return [...named.filter((_, index) => index % 6 === 0), ...generated.filter((_, index) => index % 38 === 0)];
};
