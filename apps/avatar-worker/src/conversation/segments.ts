/** The words of a call, as segments of its transcript. */
import { MAX_SEGMENT_LENGTH, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { Transcript } from "./speaking/speaking.ts";

/** A text as a segment can have it: what providers send can be anything. */
export const segmentText = (text: string): string =>
  text.slice(0, MAX_SEGMENT_LENGTH).replaceAll("\0", " ").toWellFormed().trim();

const firstWord = (text: string): string => /\S+/.exec(text)?.[0] ?? "";

export type SegmentTaker = {
  onSegment: (segment: TranscriptSegment) => void;
  /** The answer of the avatar as far as it was heard, as if it were interrupted now. Null: it has ended, and nothing was heard. */
  onSpeaking: (segment: TranscriptSegment | null) => void;
};

export type Segments = {
  /** Takes what is said, and passes each final text on, with the time at which it began. */
  add(transcript: Transcript): void;
  /** The words of the avatar that were heard until now; null while it does not speak. To be called often. */
  heard(words: string | null): void;
};

export const createSegments = ({ onSegment, onSpeaking }: SegmentTaker, now: () => number = Date.now): Segments => {
  let begun = { id: 0, ts: 0 };
  /** The answer that the avatar is saying. */
  let speaking: { isOwn: boolean; text: string } | null = null;
  const tell = (words: string): void => {
    const text = segmentText(words);
    if (speaking === null || text === "" || text === speaking.text) return;
    speaking.text = text;
    onSpeaking({ role: "assistant", text, ts: begun.ts, interrupted: true, ...(speaking.isOwn && { own: true }) });
  };
  const add = ({ id, role, text: said, isFinal, isInterrupted, isOwn, turn, timings }: Transcript): void => {
    if (begun.id !== id) begun = { id, ts: now() };
    const text = segmentText(said);
    if (!isFinal) {
      if (speaking !== null || role === "user") return;
      speaking = { isOwn: isOwn === true, text: "" };
      // It is heard in a moment. From here on, it is not said again.
      tell(firstWord(said));
      return;
    }
    const wasTold = speaking !== null && speaking.text !== "";
    if (role === "assistant") speaking = null;
    // Of an answer that was cut off before its first word, nothing was heard.
    if (text === "") {
      if (role === "assistant" && wasTold) onSpeaking(null);
      return;
    }
    onSegment({
      ...{ role, text, ts: begun.ts },
      ...(isInterrupted && { interrupted: true }),
      ...(isOwn && { own: true }),
      ...(turn?.id !== undefined && { turn_id: turn.id }),
      ...(turn?.retryOf !== undefined && { retry_of_turn_id: turn.retryOf }),
      ...(turn?.provenance && { input_provenance: turn.provenance }),
      ...(timings && { timings }),
    });
  };
  return {
    add,
    heard: (words) => {
      if (words !== null) tell(words);
    },
  };
};
