/** Where the pictures and the sound of an MP4 file lie: a second of pictures, its sound, the next second. */

export type TrackName = "video" | "audio";
export type Chunk = { track: TrackName; count: number };

/** `perSecond`: not always a whole number. */
type TrackLength = { count: number; perSecond: number };

/** The chunks of a file, in their order. How many samples each track has must be known. */
export const planChunks = (lengths: Record<TrackName, TrackLength>): Chunk[] => {
  const chunks: Chunk[] = [];
  const planned: Record<TrackName, number> = { video: 0, audio: 0 };
  const isDone = (): boolean => planned.video === lengths.video.count && planned.audio === lengths.audio.count;
  for (let second = 1; !isDone(); second++) {
    for (const track of ["video", "audio"] as const) {
      const { count, perSecond } = lengths[track];
      const end = Math.min(count, Math.ceil(second * perSecond));
      if (end > planned[track]) chunks.push({ track, count: end - planned[track] });
      planned[track] = end;
    }
  }
  return chunks;
};

/** The `stsc` table of a track: first chunk, samples in it, description; an entry where the number of samples changes. */
export const chunkRuns = (chunks: readonly Chunk[], track: TrackName): number[] => {
  const counts = chunks.filter((chunk) => chunk.track === track).map(({ count }) => count);
  return counts.flatMap((count, index) => (count === counts[index - 1] ? [] : [index + 1, count, 1]));
};
