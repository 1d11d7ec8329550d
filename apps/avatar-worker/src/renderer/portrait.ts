/** The renderer for avatars without a face: the prepared picture, which grows with the loudness of the voice. */
import type { VideoFrame } from "@livekit/rtc-node";
import { toI420 } from "@realtime-avatar/face/picture";
import { createPortrait, PORTRAIT_SCALES } from "@realtime-avatar/face/portrait";
import { enlarge, loadPhoto, type Photo } from "./photo.ts";
import { callMarks, NO_PICTURES, type Renderer, type RendererCall, type Rendering, toFrame } from "./renderer.ts";

/** The pictures of a photo, the smallest first. */
const drawSteps = async (photo: Photo, call: RendererCall): Promise<VideoFrame[]> => {
  const drawMarks = callMarks(call);
  const draw = async (scale: number): Promise<VideoFrame> => {
    const picture = toI420(await enlarge(photo, scale));
    drawMarks(picture);
    return toFrame(picture);
  };
  return Promise.all(PORTRAIT_SCALES.map(draw));
};

/** Opens the portrait of a photo. Drawing its pictures takes 0.17 s of processor time. `clock`: in milliseconds. */
export const openPortrait = async (
  photo: Photo,
  call: RendererCall,
  clock = () => performance.now(),
): Promise<Rendering> => {
  const drawn = createPortrait(await drawSteps(photo, call));
  return {
    hear: (pcm, delayMs) => drawn.hear(pcm, delayMs, clock()),
    clear: drawn.clear,
    picture: () => drawn.picture(clock()),
    think: () => {},
    gesture: () => "no_face",
  };
};

export const portrait: Renderer = {
  open: async (call, load) =>
    call.mode === "voice" ? NO_PICTURES : openPortrait(await loadPhoto(call.avatar, load), call),
  // The pictures contain the marks of the call, so they cannot be drawn in advance.
  preload: async () => {},
};
