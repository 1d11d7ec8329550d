/**
 * What an agent and those that it hears say, for the transcript of the call. LiveKit's agents send a text stream on `lk.transcription`
 * for each segment of speech: of their own, word by word while it is played; of a person, a stream for each guess, and a final one.
 */
import {
  MAX_SEGMENT_LENGTH,
  MAX_TRANSCRIPT_SEGMENTS,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import { segmentText } from "../conversation/segments.ts";

/** Streams that are read at once. Others are closed unread. */
const MAX_OPEN = 16;

/** The part of a stream of text that is used. */
export type TextStream = AsyncIterable<string> & {
  info: { attributes?: Record<string, string> | undefined };
  close(): Promise<void>;
};

export type AgentTranscript = (stream: TextStream, sender: string) => void;

/** `speakers`: the identities of the agent and of its avatar. All others are people. */
export const createAgentTranscript = (
  speakers: () => readonly (string | undefined)[],
  onSegment: (segment: TranscriptSegment) => void,
  now: () => number = Date.now,
): AgentTranscript => {
  const known = new Set<string>();
  let [open, count] = [0, 0];
  const read = async (stream: TextStream): Promise<string> => {
    let text = "";
    try {
      for await (const piece of stream) {
        text += piece;
        if (text.length > MAX_SEGMENT_LENGTH) break;
      }
    } catch {
      // The sender has left in the middle of it. What came before was said.
    }
    return segmentText(text);
  };
  return async (stream, sender) => {
    if (open >= MAX_OPEN || count >= MAX_TRANSCRIPT_SEGMENTS) return void stream.close();
    const role = speakers().includes(sender) ? "assistant" : "user";
    const ts = now();
    open++;
    const text = await read(stream).finally(() => {
      open--;
    });
    const { "lk.segment_id": id, "lk.transcription_final": isFinal } = stream.info.attributes ?? {};
    // The stream of an agent is open while it speaks, and says at its start that it is not final.
    if (text === "" || (role === "user" && isFinal !== "true") || (id !== undefined && known.has(id))) return;
    if (count >= MAX_TRANSCRIPT_SEGMENTS) return;
    count++;
    if (id !== undefined) known.add(id);
    onSegment({ role, text, ts });
  };
};
