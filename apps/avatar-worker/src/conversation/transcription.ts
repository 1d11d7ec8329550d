/** Tells the page what both sides say: text streams on `lk.transcription`, as LiveKit's agents and the hooks of its pages have them. */
import { randomBytes } from "node:crypto";
import type { Room } from "@livekit/rtc-node";
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import { withTimeout } from "../room/join.ts";
import type { Transcript } from "./speaking/speaking.ts";

const TOPIC = "lk.transcription";
const SEND_MS = 2000;
/** How many streams wait to be sent at most. A connection that is lost keeps them waiting. */
const MAX_WAITING = 32;

/** Returns a function that sends what was said. A later text with the same id replaces the one before. */
export const createTranscription = ({ localParticipant }: Room): ((transcript: Transcript) => void) => {
  // Another process of the call counts from 1 as well, and replaces nothing of this one.
  const prefix = `SG_${randomBytes(4).toString("hex")}_`;
  let last = Promise.resolve();
  let waiting = 0;
  const send = async ({ id, role, text, isFinal }: Transcript): Promise<void> => {
    const attributes = { "lk.segment_id": `${prefix}${id}`, "lk.transcription_final": String(isFinal) };
    const senderIdentity = role === "user" ? PERSON_IDENTITY : AVATAR_IDENTITY;
    const writer = await localParticipant?.streamText({ topic: TOPIC, attributes, senderIdentity });
    await writer?.write(text);
    await writer?.close();
  };
  return (transcript) => {
    // A transcript that is not final is sent again.
    if (waiting >= MAX_WAITING || (waiting > 4 && !transcript.isFinal)) return;
    waiting++;
    // One after another, because they replace each other.
    last = last
      .then(() => withTimeout(SEND_MS, send(transcript)))
      .catch(() => {})
      .finally(() => {
        waiting--;
      });
  };
};
