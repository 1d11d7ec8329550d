/** The renderer for avatars without a face: the prepared picture, which grows with the loudness of the voice. */
import type { VideoFrame } from "@livekit/rtc-node";
import { toI420 } from "@realtime-avatar/face/picture";
import { loudness } from "./loudness.ts";
import { enlarge, loadPhoto, type Photo } from "./photo.ts";
import { callMarks, NO_PICTURES, type Renderer, type RendererCall, type Rendering, toFrame } from "./renderer.ts";

export const STEPS = 8;
/** How much larger each step is than the one before it. */
const GROWTH = 0.02;
/** The loudness of the first and of the last step, in decibels below the loudest. */
const QUIET_DB = -45;
const LOUD_DB = -12;
/** How much of its loudness the picture keeps from one frame of sound to the next: it grows at once and shrinks slowly. */
const DECAY = 0.85;

/** The step of a loudness from 0 to 1. */
const loudnessStep = (level: number): number => {
  if (level <= 0) return 0;
  const share = (20 * Math.log10(level) - QUIET_DB) / (LOUD_DB - QUIET_DB);
  return Math.round(Math.min(1, Math.max(0, share)) * (STEPS - 1));
};

/** A loudness, and when it is heard. */
type Level = { level: number; heardAt: number };

/** Returns the loudness of the sound that is heard now, from sound that is told earlier. */
const createLevelMeter = () => {
  let waiting: Level[] = [];
  let current = 0;
  const at = (now: number): number => {
    while (waiting[0] && waiting[0].heardAt <= now) {
      current = Math.max((waiting.shift() as Level).level, current * DECAY);
    }
    return current;
  };
  return {
    hear: (level: number, now: number, delayMs: number): void => {
      // Without viewers, no picture asks for the loudness. The list must not grow then.
      at(now);
      waiting.push({ level, heardAt: now + delayMs });
    },
    clear: (): void => {
      waiting = [];
    },
    at,
  };
};

/** The pictures of a photo, the smallest first. */
const drawSteps = async (photo: Photo, call: RendererCall): Promise<VideoFrame[]> => {
  const drawMarks = callMarks(call);
  const draw = async (_: unknown, step: number): Promise<VideoFrame> => {
    const picture = toI420(await enlarge(photo, 1 + step * GROWTH));
    drawMarks(picture);
    return toFrame(picture);
  };
  return Promise.all(Array.from({ length: STEPS }, draw));
};

/** Opens the portrait of a photo. To draw its pictures takes 0.17 s of processor time. `clock`: in milliseconds. */
export const openPortrait = async (
  photo: Photo,
  call: RendererCall,
  clock = () => performance.now(),
): Promise<Rendering> => {
  const pictures = await drawSteps(photo, call);
  const meter = createLevelMeter();
  return {
    hear: (pcm, delayMs) => meter.hear(loudness(pcm), clock(), delayMs),
    clear: meter.clear,
    picture: () => pictures[loudnessStep(meter.at(clock()))] as VideoFrame,
  };
};

export const portrait: Renderer = {
  open: async (call, load) =>
    call.mode === "voice" ? NO_PICTURES : openPortrait(await loadPhoto(call.avatar, load), call),
};
