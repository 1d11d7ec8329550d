/** The words of a call, for the service and for the next process of the call. */
import { MAX_HISTORY_SEGMENTS, type TranscriptSegment } from "@realtime-avatar/domain/calls/transcript";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import type { Service } from "./service.ts";
import { createTranscriptSender } from "./transcript.ts";

export type Said = {
  add(segment: TranscriptSegment): void;
  /** The answer of the avatar as far as it was heard; null: it has ended, and nothing was heard. */
  speak(segment: TranscriptSegment | null): void;
  /** The process has ended. The answer of its avatar ends where it was heard. */
  cutOff(): void;
  /** As the next process gets the call. */
  assigned(assigned: AssignedCall): AssignedCall;
  /** Nothing more is said. Resolves when the transcript is complete, or after two seconds: the service erases all but a transcript. */
  finish(): Promise<void>;
  /** Nothing more is sent: another worker has the call. */
  drop(): void;
};

/** For a call whose service wants to know what is said; null otherwise. */
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
