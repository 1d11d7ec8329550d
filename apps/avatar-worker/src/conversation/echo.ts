/** An avatar without an agent says what the person has said, a moment later. */
import { FRAME_MS } from "../renderer/renderer.ts";

/** Delay that separates the echo from the speaker. */
export const ECHO_DELAY_MS = 600;
const DELAY_FRAMES = ECHO_DELAY_MS / FRAME_MS;

/** A frame of sound, and whether it is louder than the noise of a quiet room. */
export type HeardFrame = { pcm: Int16Array; isLoud: boolean };

/**
 * Passes each frame to `say` when `ECHO_DELAY_MS` more of sound has come. A microphone that is muted sends silence, so that the
 * last words come as well. `clear` drops what waits.
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
