/**
 * Writes an MP4 file with a track of H.264 and one of AAC: the description (`moov`) comes first, so that a player can
 * start before it has the whole file. How many pictures and frames there are must be known, so the room for it is known
 * too, and nothing is held.
 */
import * as boxes from "./boxes.ts";
import { type Chunk, chunkRuns, planChunks, type TrackName } from "./layout.ts";

const { box, fullBox, table, uint32 } = boxes;

export type Mp4Options = {
  picturesPerSecond: number;
  pictures: number;
  video: boxes.VideoFormat;
  sampleRate: number;
  frameSamples: number;
  /** Samples of sound that a decoder puts out before the first one. */
  delaySamples: number;
  frames: number;
  audioConfiguration: Uint8Array;
  /** Writes bytes at a position of the file. */
  write: (bytes: Uint8Array, position: number) => void;
};

export type Mp4File = {
  /** The units of the next picture, each with its length in 4 bytes before it. */
  addPicture: (sample: Uint8Array, isKey: boolean) => void;
  addFrame: (sample: Uint8Array) => void;
  /** Writes the description. All pictures and frames must be there. Returns the size of the file in bytes. */
  finish: () => number;
};

/** Times of the movie are in milliseconds. */
const MOVIE_TIMESCALE = 1000;
/** Ticks of a picture. */
const PICTURE_TICKS = 1000;
const [VIDEO_ID, AUDIO_ID] = [1, 2];

/** The facts of a track after its last sample. */
type Samples = { sizes: Uint32Array; offsets: number[] };

const sampleTable = (
  description: Uint8Array,
  ticks: number,
  { sizes, offsets }: Samples,
  runs: readonly number[],
  keys: readonly number[] | null,
): Uint8Array =>
  box(
    "stbl",
    description,
    fullBox("stts", 0, uint32(1), uint32(sizes.length), uint32(ticks)),
    ...(keys === null ? [] : [fullBox("stss", 0, uint32(keys.length), table(keys))]),
    fullBox("stsc", 0, uint32(runs.length / 3), table(runs)),
    fullBox("stsz", 0, uint32(0), uint32(sizes.length), table(sizes)),
    fullBox("stco", 0, uint32(offsets.length), table(offsets)),
  );

type Known = { chunks: readonly Chunk[]; samples: Record<TrackName, Samples>; keys: readonly number[] };

/** The most bits of sound in a second, and their mean. */
const bitrates = ({ sizes }: Samples, framesPerSecond: number): { averageBitrate: number; maxBitrate: number } => {
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

/** The description of the file. Its length depends on the numbers of pictures, frames, chunks and keys alone. */
const describe = (options: Mp4Options, { chunks, samples, keys }: Known): Uint8Array => {
  const { picturesPerSecond, pictures, sampleRate, frameSamples, delaySamples, frames } = options;
  const duration = Math.round((MOVIE_TIMESCALE * pictures) / picturesPerSecond);
  const videoDescription = boxes.videoDescription(options.video);
  const video = box(
    "trak",
    boxes.trackHeader(VIDEO_ID, duration, options.video.size),
    boxes.editList(duration, 0),
    box(
      "mdia",
      boxes.mediaHeader(picturesPerSecond * PICTURE_TICKS, pictures * PICTURE_TICKS),
      boxes.handler("vide", "VideoHandler"),
      box(
        "minf",
        fullBox("vmhd", 1, uint32(0), uint32(0)),
        boxes.dataInformation(),
        sampleTable(videoDescription, PICTURE_TICKS, samples.video, chunkRuns(chunks, "video"), keys),
      ),
    ),
  );
  const audioDescription = boxes.audioDescription({
    sampleRate,
    configuration: options.audioConfiguration,
    ...bitrates(samples.audio, sampleRate / frameSamples),
  });
  const audio = box(
    "trak",
    boxes.trackHeader(AUDIO_ID, duration, 0),
    boxes.editList(duration, delaySamples),
    box(
      "mdia",
      boxes.mediaHeader(sampleRate, frames * frameSamples),
      boxes.handler("soun", "SoundHandler"),
      box(
        "minf",
        fullBox("smhd", 0, uint32(0)),
        boxes.dataInformation(),
        sampleTable(audioDescription, frameSamples, samples.audio, chunkRuns(chunks, "audio"), null),
      ),
    ),
  );
  return box("moov", boxes.movieHeader(MOVIE_TIMESCALE, duration, AUDIO_ID + 1), video, audio);
};

/** `keys`: the numbers of the pictures that need no other one, from 1 on. */
export const createMp4 = (options: Mp4Options, keys: readonly number[]): Mp4File => {
  const { pictures, picturesPerSecond, frames, sampleRate, frameSamples, write } = options;
  const chunks = planChunks({
    video: { count: pictures, perSecond: picturesPerSecond },
    audio: { count: frames, perSecond: sampleRate / frameSamples },
  });
  const chunkCount = (track: TrackName): number => chunks.filter((chunk) => chunk.track === track).length;
  const empty = (count: number, track: TrackName): Samples => ({
    sizes: new Uint32Array(count),
    offsets: new Array<number>(chunkCount(track)).fill(0),
  });
  const samples = { video: empty(pictures, "video"), audio: empty(frames, "audio") };
  const type = boxes.fileType();
  const dataAt = type.length + describe(options, { chunks, samples, keys }).length;
  let position = dataAt + 8;
  const waiting: Record<TrackName, Uint8Array[]> = { video: [], audio: [] };
  const added: Record<TrackName, number> = { video: 0, audio: 0 };
  const written: Record<TrackName, number> = { video: 0, audio: 0 };
  let next = 0;

  /** Writes the chunks whose samples are there. */
  const flush = (): void => {
    for (;;) {
      const chunk = chunks[next];
      if (chunk === undefined || waiting[chunk.track].length < chunk.count) return;
      const bytes = boxes.concat(...waiting[chunk.track].splice(0, chunk.count));
      samples[chunk.track].offsets[written[chunk.track]++] = position;
      write(bytes, position);
      position += bytes.length;
      next++;
    }
  };
  const add = (track: TrackName, sample: Uint8Array): void => {
    const { sizes } = samples[track];
    if (added[track] >= sizes.length) throw new RangeError(`There are more than ${sizes.length} samples of ${track}.`);
    sizes[added[track]++] = sample.length;
    waiting[track].push(sample);
    flush();
  };
  return {
    addPicture: (sample, isKey) => {
      if (isKey !== keys.includes(added.video + 1))
        throw new RangeError("The picture is not of the kind that was planned.");
      add("video", sample);
    },
    addFrame: (sample) => add("audio", sample),
    finish: () => {
      if (next < chunks.length) throw new RangeError("There are samples missing.");
      write(
        boxes.concat(
          type,
          describe(options, { chunks, samples, keys }),
          uint32(position - dataAt),
          [109, 100, 97, 116],
        ),
        0,
      );
      return position;
    },
  };
};
