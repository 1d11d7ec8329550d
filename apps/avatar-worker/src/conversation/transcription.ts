/**
 * Sends the words of both sides to the page: text streams on `lk.transcription`, in the format of LiveKit's agents and
 * of the hooks of its pages.
 */
import { randomBytes } from "node:crypto";
import type { Room } from "@livekit/rtc-node";
import { AVATAR_IDENTITY, PERSON_IDENTITY } from "@realtime-avatar/domain/calls/room";
import { withTimeout } from "../room/join.ts";
import type { Transcript } from "./speaking/speaking.ts";

const TOPIC = "lk.transcription";
const SEND_MS = 2000;
/** Maximum number of streams that wait to be sent. They wait while the connection is lost. */
const MAX_WAITING = 32;

/** Returns a function that sends a spoken text. A later text with the same id replaces it. */
export const createTranscription = ({ localParticipant }: Room): ((transcript: Transcript) => void) => {
  // Every process of a call counts from 1. The prefix keeps it from replacing texts of another process.
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
    // A dropped interim transcript is sent again later.
    if (waiting >= MAX_WAITING || (waiting > 4 && !transcript.isFinal)) return;
    waiting++;
    // Texts are sent in order, because they replace each other.
    last = last
      .then(() => withTimeout(SEND_MS, send(transcript)))
      .catch(() => {})
      .finally(() => {
        waiting--;
      });
  };
};
