/** Videos and audio files for tests, from packets that no decoder would accept: only their containers are inspected. */
import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  EncodedVideoPacketSource,
  MovOutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from "mediabunny";

/** The decoder configuration of an H.264 stream (ISO/IEC 14496-15, `avcC`): baseline, one sequence and one picture set. */
const AVC_CONFIGURATION = Uint8Array.from([
  ...[1, 0x42, 0xc0, 0x1f, 0xff, 0xe1],
  ...[0, 9, 0x67, 0x42, 0xc0, 0x1f, 0xd9, 0x00, 0x50, 0x05, 0xbb],
  ...[1, 0, 4, 0x68, 0xcb, 0x83, 0xcb],
]);
/** The frame header of a key frame of VP9 (profile 0): marker, key frame, sync code. */
const VP9_KEY_FRAME = [0x82, 0x49, 0x83, 0x42, 0x00];
/** An access unit with one IDR slice, prefixed with its length. */
const AVC_KEY_FRAME = [0, 0, 0, 5, 0x65, 0x88, 0x84, 0x00, 0x10];

const CODEC_STRINGS = {
  avc: "avc1.42c01f",
  vp9: "vp09.00.31.08",
  vp8: "vp8",
  av1: "av01.0.04M.08",
};

const AAC_CONFIGURATION: AudioDecoderConfig = {
  ...{ codec: "mp4a.40.2", sampleRate: 48_000, numberOfChannels: 2 },
  description: Uint8Array.from([0x11, 0x90]),
};

export type VideoOptions = {
  container?: "mp4" | "mov" | "webm" | "fragments";
  codec?: keyof typeof CODEC_STRINGS;
  width?: number;
  height?: number;
  seconds?: number;
  /** The time of the first frame. */
  startSeconds?: number;
  framesPerSecond?: number;
  /** The length of a sound that begins at 0 s; by default, the video has no sound. */
  soundSeconds?: number;
  rotation?: 0 | 90 | 180 | 270;
};

const CONTAINERS: Record<NonNullable<VideoOptions["container"]>, () => OutputFormat> = {
  mp4: () => new Mp4OutputFormat({ fastStart: "in-memory" }),
  mov: () => new MovOutputFormat({ fastStart: "in-memory" }),
  webm: () => new WebMOutputFormat(),
  fragments: () => new Mp4OutputFormat({ fastStart: "fragmented" }),
};

const finished = async (output: Output<OutputFormat, BufferTarget>): Promise<Buffer> => {
  await output.finalize();
  return Buffer.from(output.target.buffer ?? new ArrayBuffer(0));
};

/** A video with one track, 2 s of 640 x 360 at 25 frames per second unless the options say otherwise. */
export const video = async (options: VideoOptions = {}): Promise<Buffer> => {
  const { container = "mp4", width = 640, height = 360, seconds = 2, framesPerSecond = 25, rotation = 0 } = options;
  const { startSeconds = 0, soundSeconds = 0 } = options;
  const codec = options.codec ?? (container === "webm" ? "vp9" : "avc");
  const output = new Output({ format: CONTAINERS[container](), target: new BufferTarget() });
  const source = new EncodedVideoPacketSource(codec);
  output.addVideoTrack(source, { rotation, frameRate: framesPerSecond });
  const sound = new EncodedAudioPacketSource("aac");
  if (soundSeconds > 0) output.addAudioTrack(sound);
  await output.start();
  const decoderConfig = {
    codec: CODEC_STRINGS[codec],
    codedWidth: width,
    codedHeight: height,
    ...(codec === "avc" ? { description: AVC_CONFIGURATION } : {}),
  };
  const data = Uint8Array.from([
    ...(codec === "avc" ? AVC_KEY_FRAME : VP9_KEY_FRAME),
    ...new Array<number>(40).fill(7),
  ]);
  for (let frame = 0; frame < Math.round(seconds * framesPerSecond); frame += 1) {
    const packet = new EncodedPacket(data, "key", startSeconds + frame / framesPerSecond, 1 / framesPerSecond);
    await source.add(packet, { decoderConfig });
  }
  for (let second = 0; second < soundSeconds; second += 1) {
    const packet = new EncodedPacket(Uint8Array.from(new Array<number>(64).fill(1)), "key", second, 1);
    await sound.add(packet, { decoderConfig: AAC_CONFIGURATION });
  }
  return finished(output);
};

const box = (name: string, content: Buffer): Buffer => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length);
  head.write(name, 4, "latin1");
  return Buffer.concat([head, content]);
};

/** The content of a file or of a box, with the edit list `list` in each track. */
const insertList = (content: Buffer, list: Buffer): Buffer => {
  const boxes: Buffer[] = [];
  for (let at = 0; at < content.length; at += content.readUInt32BE(at)) {
    const [name, inner] = [
      content.toString("latin1", at + 4, at + 8),
      content.subarray(at + 8, at + content.readUInt32BE(at)),
    ];
    if (name === "moov") boxes.push(box(name, insertList(inner, list)));
    else if (name === "trak") boxes.push(box(name, Buffer.concat([insertList(inner, list), list])));
    else if (name !== "edts") boxes.push(box(name, inner));
  }
  return Buffer.concat(boxes);
};

/**
 * An MP4 of one track with a replaced edit list: the length of each edit in seconds, and the second of the track where
 * it begins.
 */
export const withEdits = (
  file: Buffer,
  edits: readonly (readonly [duration: number, mediaStart: number])[],
): Buffer => {
  const timescale = (header: string): number => file.readUInt32BE(file.indexOf(header) + 16);
  const list = Buffer.alloc(8 + 12 * edits.length);
  list.writeUInt32BE(edits.length, 4);
  for (const [index, [duration, mediaStart]] of edits.entries()) {
    list.writeUInt32BE(Math.round(duration * timescale("mvhd")), 8 + 12 * index);
    list.writeInt32BE(mediaStart < 0 ? -1 : Math.round(mediaStart * timescale("mdhd")), 12 + 12 * index);
    list.writeUInt32BE(0x10000, 16 + 12 * index);
  }
  return insertList(file, box("edts", box("elst", list)));
};

const audioOf = async (
  format: OutputFormat,
  codec: "aac" | "opus",
  decoderConfig: AudioDecoderConfig,
  packetSeconds: number,
  data: number[],
): Promise<Buffer> => {
  const output = new Output({ format, target: new BufferTarget() });
  const source = new EncodedAudioPacketSource(codec);
  output.addAudioTrack(source);
  await output.start();
  for (let index = 0; index < 50; index += 1) {
    const packet = new EncodedPacket(Uint8Array.from(data), "key", index * packetSeconds, packetSeconds);
    await source.add(packet, { decoderConfig });
  }
  return finished(output);
};

/** AAC in MP4, 48 kHz, two channels, one second. */
export const aac = (format: OutputFormat = new Mp4OutputFormat({ fastStart: "in-memory" })): Promise<Buffer> =>
  audioOf(format, "aac", AAC_CONFIGURATION, 1024 / 48_000, new Array<number>(64).fill(1));

/** The same with the brand of audio files. */
export const m4a = async (): Promise<Buffer> => {
  const file = await aac();
  file.write("M4A ", 8, "latin1");
  return file;
};

/** RFC 7845: version 1, two channels, no pre-skip, 48 kHz, no gain, mapping family 0. */
const OPUS_HEAD = Uint8Array.from([...Buffer.from("OpusHead"), 1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0]);

export const opus = (): Promise<Buffer> =>
  audioOf(
    new OggOutputFormat(),
    "opus",
    { codec: "opus", sampleRate: 48_000, numberOfChannels: 2, description: OPUS_HEAD },
    0.02,
    [0xfc, ...new Array<number>(40).fill(3)],
  );

/** One second of silence: RIFF WAVE, 16 bits, 8 kHz, one channel. */
export const wav = (seconds = 1): Buffer => {
  const samples = Buffer.alloc(16_000 * seconds);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
};

/** Frames of MPEG-1 layer III, 128 kbit/s, 44.1 kHz. */
export const mp3 = (frames = 40): Buffer => {
  const frame = Buffer.alloc(417);
  frame.set([0xff, 0xfb, 0x90, 0x00]);
  return Buffer.concat(new Array<Buffer>(frames).fill(frame));
};

/** Frames of AAC with ADTS headers, 44.1 kHz, two channels. */
export const adts = (frames = 40): Buffer => {
  const size = 64;
  const frame = Buffer.alloc(size);
  frame.set([0xff, 0xf1, 0x50, 0x80 | (size >> 11), (size >> 3) & 255, ((size & 7) << 5) | 0x1f, 0xfc]);
  return Buffer.concat(new Array<Buffer>(frames).fill(frame));
};

/** The remainder of `bytes` by a polynomial of `bits` bits (the checksums of FLAC). */
const crc = (bytes: readonly number[], bits: 8 | 16, polynomial: number): number => {
  const top = 1 << (bits - 1);
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit += 1) value = (value & top) === 0 ? value << 1 : (value << 1) ^ polynomial;
    value &= 2 * top - 1;
  }
  return value;
};

/** Frames of silence (RFC 9639): 4096 samples each, 44.1 kHz, one channel, 16 bits, constant. */
export const flac = (frames = 11): Buffer => {
  const samples = frames * 4096;
  // Last metadata block: stream information of 34 bytes.
  const information = [0x80, 0, 0, 34, 0x10, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0xc4, 0x40, 0xf0];
  const count = [samples >>> 24, (samples >>> 16) & 255, (samples >>> 8) & 255, samples & 255];
  const bytes = [...Buffer.from("fLaC"), ...information, ...count, ...new Array<number>(16).fill(0)];
  for (let index = 0; index < frames; index += 1) {
    const head = [0xff, 0xf8, 0xc9, 0x08, index];
    const frame = [...head, crc(head, 8, 0x07), 0, 0, 0];
    const check = crc(frame, 16, 0x8005);
    bytes.push(...frame, check >> 8, check & 255);
  }
  return Buffer.from(bytes);
};
