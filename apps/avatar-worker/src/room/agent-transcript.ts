/**
 * The words of an agent and of the people that it hears, for the transcript of the call. LiveKit's agents send text
 * streams on `lk.transcription`. For their own speech, a stream has the words of a segment while they are played. For a
 * person, they send a stream for each interim text, and one for the final text.
 */
import {
  MAX_SEGMENT_LENGTH,
  MAX_TRANSCRIPT_SEGMENTS,
  type TranscriptSegment,
} from "@realtime-avatar/domain/calls/transcript";
import { segmentText } from "../conversation/segments.ts";

/** Maximum number of streams that are read at once. Others are closed unread. */
const MAX_OPEN = 16;

/** The part of a text stream that is used. */
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
      // The sender has left in the middle of the stream. The words before count as said.
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
    // The stream of an agent is open while the agent speaks, so its attributes do not say that it is final.
    if (text === "" || (role === "user" && isFinal !== "true") || (id !== undefined && known.has(id))) return;
    if (count >= MAX_TRANSCRIPT_SEGMENTS) return;
    count++;
    if (id !== undefined) known.add(id);
    onSegment({ role, text, ts });
  };
};
