/** Makes the segments of a transcript from the words of a call. */
import {
  MAX_SEGMENT_LENGTH,
  MAX_TOOL_LENGTH,
  MAX_TOOL_SEGMENT_BYTES,
  type RecordedToolCall,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import { type ToolCall, toolError } from "./providers/tool-calls.ts";
import type { Transcript } from "./speaking/speaking.ts";

/** Makes a text valid for a segment. Texts of providers can contain anything. */
export const segmentText = (text: string): string =>
  text.slice(0, MAX_SEGMENT_LENGTH).replaceAll("\0", " ").toWellFormed().trim();

const TOO_LONG = toolError("The result was too long to be kept.");

/** Tool calls for a segment. Results that do not fit are replaced, and so are arguments. */
const recordCalls = (calls: readonly ToolCall[], results: ReadonlyMap<ToolCall, string>): RecordedToolCall[] => {
  let bytesLeft = MAX_TOOL_SEGMENT_BYTES;
  const fit = (text: string, replacement: string): string => {
    const sizeBytes = Buffer.byteLength(JSON.stringify(text));
    if (text.length > MAX_TOOL_LENGTH || sizeBytes > bytesLeft) return replacement;
    bytesLeft -= sizeBytes;
    return text.replaceAll("\0", " ").toWellFormed();
  };
  const recorded = calls.map(({ args, ...call }): RecordedToolCall => ({ ...call, args: fit(args ?? "{}", "{}") }));
  return recorded.map((call, index) => {
    const result = results.get(calls[index] as ToolCall);
    return result === undefined ? call : { ...call, result: fit(result, TOO_LONG) };
  });
};

const firstWord = (text: string): string => /\S+/.exec(text)?.[0] ?? "";

export type SegmentTaker = {
  onSegment: (segment: TranscriptSegment) => void;
  /**
   * The heard part of the answer in progress, as if it were interrupted now. null: the answer has ended, and no word
   * was heard.
   */
  onSpeaking: (segment: TranscriptSegment | null) => void;
};

export type Segments = {
  /** Takes a transcript, and passes each final text on with the time of its start. */
  add(transcript: Transcript): void;
  /** Takes tool calls of the model, with the results that are known. */
  addCalls(calls: readonly ToolCall[], results: ReadonlyMap<ToolCall, string>): void;
  /** Takes the avatar's heard words so far; null while it is silent. Must be called often. */
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
      // This word is heard in a moment. From here on, a new process does not repeat the answer.
      tell(firstWord(said));
      return;
    }
    const wasTold = speaking !== null && speaking.text !== "";
    if (role === "assistant") speaking = null;
    // No word was heard of an answer that was interrupted before its first word.
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
    addCalls: (calls, results) => {
      onSegment({ role: "assistant", text: "", ts: now(), tool_calls: recordCalls(calls, results) });
    },
    heard: (words) => {
      if (words !== null) tell(words);
    },
  };
};
