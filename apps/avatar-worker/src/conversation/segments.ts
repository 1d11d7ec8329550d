/** What is said in a call, as segments of its transcript. */
import { MAX_SEGMENT_LENGTH, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { Transcript } from "./speaking/speaking.ts";

/** A text as a segment can have it: what providers send can be anything. */
const segmentText = (text: string): string =>
  text.slice(0, MAX_SEGMENT_LENGTH).replaceAll("\0", " ").toWellFormed().trim();

/** Returns a function that takes what is said, and passes each final text on, with the time at which it began. */
export const createSegments = (
  onSegment: (segment: TranscriptSegment) => void,
  now: () => number = Date.now,
): ((transcript: Transcript) => void) => {
  let begun = { id: 0, ts: 0 };
  return ({ id, role, text: said, isFinal, isInterrupted, turn, timings }) => {
    if (begun.id !== id) begun = { id, ts: now() };
    const text = segmentText(said);
    // Of an answer that was cut off before its first word, nothing was heard.
    if (!isFinal || text === "") return;
    onSegment({
      ...{ role, text, ts: begun.ts },
      ...(isInterrupted && { interrupted: true }),
      ...(turn?.id !== undefined && { turn_id: turn.id }),
      ...(turn?.retryOf !== undefined && { retry_of_turn_id: turn.retryOf }),
      ...(turn?.provenance && { input_provenance: turn.provenance }),
      ...(timings && { timings }),
    });
  };
};
