/** A rendering for an avatar that is still being opened. */
import type { Rendering } from "./renderer.ts";

/**
 * Sound that waits for the open rendering, with its time. The oldest is dropped, because the pictures of its time are
 * never drawn.
 */
type Heard = { pcm: Int16Array; at: number };

/** Queues sound until the rendering is open, and then passes it on. `clock`: in milliseconds. */
export const createLateRendering = (opening: Promise<Rendering>, clock = () => performance.now()): Rendering => {
  let opened: Rendering | null = null;
  let heard: Heard[] = [];
  let isThinking = false;
  const open = (rendering: Rendering): void => {
    opened = rendering;
    rendering.think(isThinking);
    const now = clock();
    for (const { pcm, at } of heard) if (at >= now) rendering.hear(pcm, at - now);
    heard = [];
  };
  // The pictures report the failure.
  opening.then(open, () => {});
  return {
    hear: (pcm, delayMs) => {
      if (opened) return opened.hear(pcm, delayMs);
      const now = clock();
      heard = heard.filter(({ at }) => at >= now);
      heard.push({ pcm, at: now + delayMs });
    },
    clear: () => {
      heard = [];
      opened?.clear();
    },
    picture: () => {
      if (opened === null) throw new Error("the avatar is not open");
      return opened.picture();
    },
    think: (isThinkingNow) => {
      isThinking = isThinkingNow;
      opened?.think(isThinkingNow);
    },
    gesture: (name) => opened?.gesture(name) ?? "busy",
  };
};
