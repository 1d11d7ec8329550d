/** The reference renderer: the prepared picture of the avatar, which grows with the loudness of its voice. */
import type { VideoFrame } from "@livekit/rtc-node";
import { wholePicture } from "@realtime-avatar/domain/avatars/preparation";
import { loudness } from "./loudness.ts";
import { picturesOf, STEPS } from "./picture.ts";
import type { Renderer } from "./renderer.ts";

/** The loudness of the first and of the last step, in decibels below the loudest. */
const QUIET_DB = -45;
const LOUD_DB = -12;
/** How much of its loudness the picture keeps from one frame of sound to the next: it grows at once and shrinks slowly. */
const DECAY = 0.85;

/** The step of a loudness from 0 to 1. */
const stepOf = (level: number): number => {
  if (level <= 0) return 0;
  const share = (20 * Math.log10(level) - QUIET_DB) / (LOUD_DB - QUIET_DB);
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
};

export const portrait: Renderer = {
  open: async ({ avatar, environment, mode }, load) => {
    const draw = async (): Promise<VideoFrame[]> => {
      const file = wholePicture(avatar.manifest);
      return picturesOf(file === null ? null : await load(file), environment === "test");
    };
    // To draw the pictures takes 0.17 s of processor time. A call in the mode `voice` has no video.
    const pictures = mode === "voice" ? [] : await draw();
    let level = 0;
    return {
      hear: (pcm) => {
        level = Math.max(loudness(pcm), level * DECAY);
      },
      picture: () => pictures[stepOf(level)] as VideoFrame,
    };
  },
};
