/** The words of a call, sent to the service and kept for the next process of the call. */
import {
  MAX_HISTORY_SEGMENTS,
  MAX_TOOL_SEGMENTS_BYTES,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { Service } from "./service.ts";
import { createTranscriptSender } from "./transcript.ts";

export type Said = {
  add(segment: TranscriptSegment): void;
  /** The heard part of the answer in progress. null: the answer has ended, and no word was heard. */
  speak(segment: TranscriptSegment | null): void;
  /** The process has ended. The answer in progress ends at its last heard word. */
  cutOff(): void;
  /** The call with its history, for the next process. */
  assigned(assigned: AssignedCall): AssignedCall;
  /**
   * Ends the transcript. Resolves when it is complete, or after two seconds. Without a transcript, resolves at once,
   * because the service erases the segments.
   */
  finish(): Promise<void>;
  /** Sends no more, because another worker has the call. */
  drop(): void;
};

/**
 * Returns a function that decides whether a segment is sent. A transcript takes tool calls only up to a part of its
 * size. An older service takes no tool calls.
 */
const createToolBound = ({ history, transcript }: AssignedCall): ((segment: TranscriptSegment) => boolean) => {
  let bytesLeft = transcript ? MAX_TOOL_SEGMENTS_BYTES : Infinity;
  return (segment) => {
    if (!segment.tool_calls) return true;
    bytesLeft -= Buffer.byteLength(JSON.stringify(segment));
    return history?.takes_tools === true && bytesLeft >= 0;
  };
};

/** Returns null for a call whose service wants no segments. */
export const createSaid = (assigned: AssignedCall, service: Pick<Service, "transcript">): Said | null => {
  const { history, transcript } = assigned;
  if (!history && !transcript) return null;
  const sender = createTranscriptSender(assigned, service);
  const newest: TranscriptSegment[] = [...(history?.segments ?? [])];
  const isSent = createToolBound(assigned);
  let speaking: TranscriptSegment | null = null;
  const add = (segment: TranscriptSegment): void => {
    if (segment.role === "assistant" && !segment.tool_calls) speaking = null;
    if (isSent(segment)) sender.add(segment);
    newest.push(segment);
    if (newest.length > MAX_HISTORY_SEGMENTS) newest.shift();
  };
  return {
    add,
    speak: (segment) => {
      speaking = segment;
      if (history) sender.speak(segment);
    },
    cutOff: () => {
      if (speaking) add(speaking);
    },
    assigned: (call) => (history ? { ...call, history: { ...history, segments: [...newest] } } : call),
    finish: async () => {
      if (transcript) await sender.finish();
      else sender.drop();
    },
    drop: sender.drop,
  };
};
