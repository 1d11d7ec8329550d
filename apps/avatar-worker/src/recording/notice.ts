/**
 * Tells the person of a call by voice that it is recorded. The conversation begins after the notice: until then, no sound
 * passes between the person and the avatar.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Room, TrackKind } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { chooseVoices, createStates, STEP_MS } from "../conversation/in-room.ts";
import { createSegments } from "../conversation/segments.ts";
import type { EchoParts } from "../conversation/speaking/hold-echo.ts";
import { createSpeaking, once, type Transcript } from "../conversation/speaking/speaking.ts";
import { createSpeechQueue } from "../conversation/speaking/speech-queue.ts";
import { createTranscription } from "../conversation/transcription.ts";
import { following } from "../room/moving-room.ts";
import type { Published } from "../room/publish.ts";

export const NOTICE = "This call is recorded.";
/**
 * Maximum time that the notice waits until the person receives sound. If the person receives no sound, the call is not
 * recorded.
 */
const MAX_WAIT_MS = 5000;
/**
 * `LEAD_MS`: from the first packet of sound that the person can get to the start of the notice. `TAIL_MS`: the time in
 * which the last word of the notice can come back as an echo.
 */
const [LEAD_MS, TAIL_MS] = [300, 400];

export type Notice = {
  /** The tracks for the conversation. Sound that it plays before the end of the notice is dropped. */
  published: Published;
  isOver(): boolean;
  /**
   * Says the notice to the new person, unless an earlier process has said it. `interrupted`: the person has left.
   * `failed`: the person has not heard it.
   */
  say(): Promise<"said" | "interrupted" | "failed">;
  /** The person has left, or the call ends. */
  interrupt(): void;
};

/** Whether a participant receives the sound of the avatar within this time. */
const isHeard = async ({ localParticipant }: Room, maxWaitMs: number): Promise<boolean> => {
  const publications = [...(localParticipant?.trackPublications.values() ?? [])];
  const sound = publications.find(({ kind }) => kind === TrackKind.KIND_AUDIO);
  const heard = sound?.waitForSubscription().then(() => true);
  return (await Promise.race([heard, pause(maxWaitMs, false)])) ?? false;
};

/** Says the notice in the built-in voice, which needs no provider. */
const createNoticeVoice = (
  room: Room,
  assigned: AssignedCall,
  published: Published,
  { speech, segments }: Pick<EchoParts, "speech" | "segments">,
) => {
  const { play, queuedMs, clear } = published;
  const queue = createSpeechQueue({ play, queuedMs, clear, preview: () => {} });
  const { ownVoice } = chooseVoices(assigned, speech);
  const sendToPage = createTranscription(room);
  const record = segments && createSegments(segments);
  const onTranscript = (transcript: Transcript): void => {
    sendToPage(transcript);
    record?.add(transcript);
  };
  const events = { onState: createStates(room, assigned.mode), onTranscript };
  return { queue, speaking: createSpeaking({ voice: ownVoice, ownVoice, events }, queue, { add: () => {} }) };
};

type NoticeParts = Pick<EchoParts, "speech" | "segments"> & {
  /** Whether an earlier process has said the notice to the person in the room. */
  isTold: boolean;
};

/** `maxWaitMs`: for tests. */
export const createNotice = (
  room: Room,
  assigned: AssignedCall,
  published: Published,
  parts: NoticeParts,
  maxWaitMs = MAX_WAIT_MS,
): Notice => {
  const { queue, speaking } = createNoticeVoice(room, assigned, published, parts);
  let { isTold } = parts;
  let isOver = isTold;
  let current = new AbortController();
  const interrupt = (): void => {
    current.abort();
    current = new AbortController();
    queue.cutOff();
  };
  /** Says the notice. Returns whether it was said to its end. */
  const speak = async (signal: AbortSignal): Promise<boolean> => {
    await pause(LEAD_MS);
    if (signal.aborted) return false;
    const timer = setInterval(queue.step, STEP_MS);
    let isSaid = false;
    const onProgress = (status: string): void => {
      isSaid = status === "said";
    };
    await speaking.say(once(NOTICE), signal, { isOwn: true, onProgress }).catch(() => {});
    clearInterval(timer);
    if (isSaid) await pause(TAIL_MS);
    return isSaid;
  };
  return {
    published: following(() => published, {
      play: (pcm) => isOver && published.play(pcm),
      clear: () => isOver && published.clear(),
    }),
    isOver: () => isOver,
    say: async () => {
      if (isTold) {
        isTold = false;
        return "said";
      }
      isOver = false;
      interrupt();
      const { signal } = current;
      const isSaid = (await isHeard(room, maxWaitMs)) && (await speak(signal));
      if (signal.aborted) return "interrupted";
      isOver = true;
      return isSaid ? "said" : "failed";
    },
    interrupt,
  };
};
