/** The echo: without an agent, the avatar repeats the person's words after a short delay. */
import { FRAME_MS } from "../renderer/renderer.ts";

/** Delay that separates the echo from the speaker. */
export const ECHO_DELAY_MS = 600;
const DELAY_FRAMES = ECHO_DELAY_MS / FRAME_MS;

/** A frame of sound. `isLoud`: louder than the noise of a quiet room. */
export type HeardFrame = { pcm: Int16Array; isLoud: boolean };

/**
 * Passes each frame to `say` after `ECHO_DELAY_MS` of further sound. A muted microphone sends silence, so the last
 * words come through too. `clear` drops the waiting frames.
 */
export const createEcho = (say: (frame: HeardFrame) => void): { hear(frame: HeardFrame): void; clear(): void } => {
  let waiting: HeardFrame[] = [];
  return {
    hear: (frame) => {
      waiting.push(frame);
      const due = waiting.length > DELAY_FRAMES ? waiting.shift() : undefined;
      if (due) say(due);
    },
    clear: () => {
      waiting = [];
    },
  };
};
