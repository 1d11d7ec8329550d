/**
 * The timeline of a source of sound in a recording: its samples at 48 kHz, by their number since the recording began.
 * Frames come late or in bursts. Each one is placed at the end of the previous one, unless this place differs from the
 * clock for too long.
 */

/** Maximum length of the held sound, in samples: 2.7 s. A power of two. */
const SIZE = 2 ** 17;

export type Placing = {
  /** Maximum distance of a frame from its place by the clock, in samples. */
  tolerance: number;
  /** Time after which frames beyond this distance are placed by the clock, in samples. */
  patience: number;
};

export type Timeline = {
  /** Adds sound that begins at the sample `at` by the clock. Sound that is too old or too early is dropped. */
  add(pcm: Int16Array, at: number): void;
  /** Erases the sound from the sample `at` on. */
  clear(at: number): void;
  /** Adds the next samples to those of `mix`, and drops them. */
  takeInto(mix: Int32Array): void;
};

export const createTimeline = ({ tolerance, patience }: Placing): Timeline => {
  const ring = new Int16Array(SIZE);
  /** Number of taken samples. */
  let taken = 0;
  /** The end of the last frame. */
  let end = -1;
  /** The sample since which frames differ from the clock. */
  let differsSince: number | null = null;
  /** The place of a frame that begins at `at` by the clock. */
  const place = (at: number): number => {
    differsSince = Math.abs(at - end) > tolerance ? (differsSince ?? at) : null;
    if (end >= taken && (differsSince === null || at - differsSince < patience)) return end;
    differsSince = null;
    return Math.max(at, taken);
  };
  const erase = (from: number): void => {
    for (let index = from; index < end; index++) ring[index % SIZE] = 0;
    end = Math.min(end, from);
  };
  return {
    add: (pcm, at) => {
      const start = place(at);
      if (start + pcm.length > taken + SIZE) return;
      erase(start);
      for (let index = 0; index < pcm.length; index++) ring[(start + index) % SIZE] = pcm[index] as number;
      end = start + pcm.length;
    },
    clear: (at) => erase(Math.max(at, taken)),
    takeInto: (mix) => {
      for (let index = 0; index < mix.length; index++) {
        const slot = (taken + index) % SIZE;
        mix[index] = (mix[index] as number) + (ring[slot] as number);
        ring[slot] = 0;
      }
      taken += mix.length;
    },
  };
};
