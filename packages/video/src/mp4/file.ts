/**
 * Writes an MP4 file with a track of AAC, and one of H.264 if there are pictures. Samples are written as they are added, and the
 * description (`moov`) after the last one: only the tables of the samples are held. The signature of a file moves `moov` to the front.
 */
import * as boxes from "./boxes.ts";
import { createTrack, type Track } from "./track.ts";

const { box, fullBox, uint32 } = boxes;

export type SoundFormat = {
  sampleRate: number;
  /** Samples of a frame. */
  frameSamples: number;
  /** Samples that a decoder outputs before the first one. */
  delaySamples: number;
  /** The AudioSpecificConfig. */
  configuration: Uint8Array;
};

export type Mp4Options = {
  sound: SoundFormat;
  /** Ticks per second of the durations of pictures. */
  pictureTimescale: number;
  /** Writes bytes at a position of the file. */
  write: (bytes: Uint8Array, position: number) => void;
  /** The maximum size of the file. Default: the largest offset of 32 bits. */
  maxBytes?: number;
};

export type Mp4File = {
  /** Adds the units of the next picture, each with its length in 4 bytes before it. `ticks`: how long it is shown. */
  addPicture: (sample: Uint8Array, ticks: number, isKey: boolean) => void;
  addFrame: (sample: Uint8Array) => void;
  /** Writes the description. `video`: null without pictures. Returns the size of the file in bytes. */
  finish: (video: boxes.VideoFormat | null) => number;
};

/** Times of the movie are in milliseconds. */
const MOVIE_TIMESCALE = 1000;
const [AUDIO_ID, VIDEO_ID] = [1, 2];
const DATA_HEAD_BYTES = 8;
const DATA_TYPE = [109, 100, 97, 116];

/** The maximum and the mean of the bits of sound in a second. */
const bitrates = (
  sizes: readonly number[],
  framesPerSecond: number,
): { averageBitrate: number; maxBitrate: number } => {
  const span = Math.max(1, Math.round(framesPerSecond));
  let [sum, total, most] = [0, 0, 0];
  for (const [index, size] of sizes.entries()) {
    total += size;
    sum += size - (sizes[index - span] ?? 0);
    most = Math.max(most, sum);
  }
  const averageBitrate = Math.round((8 * total * framesPerSecond) / Math.max(1, sizes.length));
  return { averageBitrate, maxBitrate: Math.max(averageBitrate, Math.round((8 * most * framesPerSecond) / span)) };
};

type Described = { duration: number; track: Track };

const describeAudio = ({ duration, track }: Described, sound: SoundFormat): Uint8Array => {
  const { sampleRate, frameSamples, delaySamples, configuration } = sound;
  const rates = bitrates(track.sizes, sampleRate / frameSamples);
  return box(
    "trak",
    boxes.trackHeader(AUDIO_ID, duration, 0),
    boxes.editList(duration, delaySamples),
    box(
      "mdia",
      boxes.mediaHeader(sampleRate, track.duration()),
      boxes.handler("soun", "SoundHandler"),
      box(
        "minf",
        fullBox("smhd", 0, uint32(0)),
        boxes.dataInformation(),
        track.sampleTable(boxes.audioDescription({ sampleRate, configuration, ...rates }), false),
      ),
    ),
  );
};

const describeVideo = ({ duration, track }: Described, timescale: number, video: boxes.VideoFormat): Uint8Array =>
  box(
    "trak",
    boxes.trackHeader(VIDEO_ID, duration, video.size),
    boxes.editList(duration, 0),
    box(
      "mdia",
      boxes.mediaHeader(timescale, track.duration()),
      boxes.handler("vide", "VideoHandler"),
      box(
        "minf",
        fullBox("vmhd", 1, uint32(0), uint32(0)),
        boxes.dataInformation(),
        track.sampleTable(boxes.videoDescription(video), true),
      ),
    ),
  );

export const createMp4 = ({ sound, pictureTimescale, write, maxBytes = 2 ** 32 - 1 }: Mp4Options): Mp4File => {
  const type = boxes.fileType();
  const dataAt = type.length;
  let position = dataAt + DATA_HEAD_BYTES;
  const append = (bytes: Uint8Array): number => {
    const start = position;
    position += bytes.length;
    if (position > maxBytes) throw new RangeError(`The file has more than ${maxBytes} bytes.`);
    write(bytes, start);
    return start;
  };
  const audio = createTrack(sound.sampleRate, append);
  const pictures = createTrack(pictureTimescale, append);
  return {
    addPicture: pictures.add,
    addFrame: (sample) => audio.add(sample, sound.frameSamples, true),
    finish: (video) => {
      for (const track of [pictures, audio]) track.flush();
      // The length of the film is that of the pictures; without pictures, that of the sound.
      const seconds =
        video === null
          ? (audio.duration() - sound.delaySamples) / sound.sampleRate
          : pictures.duration() / pictureTimescale;
      const duration = Math.round(MOVIE_TIMESCALE * seconds);
      const dataBytes = position - dataAt;
      append(
        box(
          "moov",
          boxes.movieHeader(MOVIE_TIMESCALE, duration, VIDEO_ID + 1),
          ...(video === null ? [] : [describeVideo({ duration, track: pictures }, pictureTimescale, video)]),
          describeAudio({ duration, track: audio }, sound),
        ),
      );
      write(boxes.concat(type, uint32(dataBytes), DATA_TYPE), 0);
      return position;
    },
  };
};
