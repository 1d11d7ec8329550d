/** The words of a call, sent to the service and kept for the next process of the call. */
import { MAX_HISTORY_SEGMENTS, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
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
   * Ends the transcript. Resolves when it is complete, or after two seconds. Without a transcript, resolves at once:
   * the service erases the segments then.
   */
  finish(): Promise<void>;
  /** Sends no more, because another worker has the call. */
  drop(): void;
};

/** Returns null for a call whose service wants no segments. */
export const createSaid = (assigned: AssignedCall, service: Pick<Service, "transcript">): Said | null => {
  const { history, transcript } = assigned;
  if (!history && !transcript) return null;
  const sender = createTranscriptSender(assigned, service);
  const newest: TranscriptSegment[] = [...(history?.segments ?? [])];
  let speaking: TranscriptSegment | null = null;
  const add = (segment: TranscriptSegment): void => {
    if (segment.role === "assistant") speaking = null;
    sender.add(segment);
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
