/** A track of an MP4 file: the offsets of its samples, and how long each is shown or heard. */
import { type Bytes, box, concat, fullBox, table, uint32 } from "./boxes.ts";

/** A chunk is about a second, so that sound and pictures of the same time are near each other in the file. */
const CHUNK_SECONDS = 1;

export type Track = {
  /** Adds a sample, which lasts for `ticks`. */
  add: (sample: Bytes, ticks: number, isKey: boolean) => void;
  /** Writes the samples of an incomplete chunk. */
  flush: () => void;
  /** The tables of the samples. `hasKeys`: whether samples need earlier ones to be decoded, except key samples. */
  sampleTable: (description: Bytes, hasKeys: boolean) => Bytes;
  /** The sizes of all samples, in bytes. */
  sizes: readonly number[];
  /** The duration of all samples. */
  duration: () => number;
};

/** Adds a value to a run-length encoding: pairs of a count and a value. */
const addToRuns = (runs: number[], value: number): void => {
  if (runs.length > 0 && runs.at(-1) === value) runs[runs.length - 2] = (runs.at(-2) as number) + 1;
  else runs.push(1, value);
};

/**
 * The entries of `stsc`: the first chunk of a run, the samples in each of its chunks, and the description. A run ends where
 * the number of samples changes.
 */
const chunkRuns = (counts: readonly number[]): number[] =>
  counts.flatMap((count, index) => (count === counts[index - 1] ? [] : [index + 1, count, 1]));

/** `timescale`: ticks of a second. `append` writes bytes at the end of the file, and returns where they begin. */
export const createTrack = (timescale: number, append: (bytes: Bytes) => number): Track => {
  const sizes: number[] = [];
  const durations: number[] = [];
  const keys: number[] = [];
  const offsets: number[] = [];
  const counts: number[] = [];
  let waiting: Bytes[] = [];
  let waitingTicks = 0;
  let duration = 0;
  const flush = (): void => {
    if (waiting.length === 0) return;
    offsets.push(append(concat(...waiting)));
    counts.push(waiting.length);
    waiting = [];
    waitingTicks = 0;
  };
  return {
    add: (sample, ticks, isKey) => {
      sizes.push(sample.length);
      addToRuns(durations, ticks);
      if (isKey) keys.push(sizes.length);
      waiting.push(sample);
      waitingTicks += ticks;
      duration += ticks;
      if (waitingTicks >= CHUNK_SECONDS * timescale) flush();
    },
    flush,
    sampleTable: (description, hasKeys) => {
      const runs = chunkRuns(counts);
      return box(
        "stbl",
        description,
        fullBox("stts", 0, uint32(durations.length / 2), table(durations)),
        ...(hasKeys ? [fullBox("stss", 0, uint32(keys.length), table(keys))] : []),
        fullBox("stsc", 0, uint32(runs.length / 3), table(runs)),
        fullBox("stsz", 0, uint32(0), uint32(sizes.length), table(sizes)),
        fullBox("stco", 0, uint32(offsets.length), table(offsets)),
      );
    },
    sizes,
    duration: () => duration,
  };
};
