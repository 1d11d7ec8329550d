/** The transcript that a page receives: text streams on `lk.transcription`. */
import type { Room } from "@livekit/rtc-node";

/** A received text. `who`: the identity of the sender. */
export type ToldText = { who: string; segment: string; text: string; isFinal: boolean; at: number };

export const watchTranscript = (room: Room) => {
  const transcripts: ToldText[] = [];
  room.registerTextStreamHandler("lk.transcription", (reader, { identity }) => {
    const { "lk.segment_id": segment = "", "lk.transcription_final": final = "" } = reader.info.attributes ?? {};
    void reader
      .readAll()
      .then((text) =>
        transcripts.push({ who: identity, segment, text, isFinal: final === "true", at: performance.now() }),
      )
      .catch(() => {});
  });
  return {
    transcripts,
    /** The final texts, in order. */
    said: () => transcripts.filter(({ isFinal }) => isFinal).map(({ who, text }) => ({ who, text })),
  };
};
