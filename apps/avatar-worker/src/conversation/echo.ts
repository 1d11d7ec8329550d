/** An avatar without an agent says what the person has said, a moment later. */
import { FRAME_MS } from "../renderer/renderer.ts";

/** Delay that separates the echo from the speaker. */
const DELAY_MS = 600;
const DELAY_FRAMES = DELAY_MS / FRAME_MS;

/**
 * Passes each frame to `say` when `DELAY_MS` more of sound has come. A microphone that is muted sends silence, so that the
 * last words come as well.
 */
export const createEcho = (say: (pcm: Int16Array) => void): { hear(pcm: Int16Array): void } => {
  const waiting: Int16Array[] = [];
  return {
    hear: (pcm) => {
      waiting.push(pcm);
      const due = waiting.length > DELAY_FRAMES ? waiting.shift() : undefined;
      if (due) say(due);
    },
  };
};
