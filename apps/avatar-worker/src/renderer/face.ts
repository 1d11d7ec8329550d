/** The renderer of avatars with a face: lips, eyes and head of the prepared picture move with the voice. */
import { readMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import { PICTURE_LENGTH, toI420 } from "@realtime-avatar/face/picture";
import { seedFrom } from "@realtime-avatar/face/seed";
import { createSpeaker } from "@realtime-avatar/face/speaker";
import { openFace } from "@realtime-avatar/face/warp/face";
import { loadPhoto, type Photo } from "./photo.ts";
import { openPortrait } from "./portrait.ts";
import { callMarks, NO_PICTURES, type Renderer, type RendererCall, type Rendering, toFrame } from "./renderer.ts";

/** Opens the face of a photo; null where the manifest has no valid mesh of it. `clock`: in milliseconds. */
const openSpeaker = (photo: Photo, call: RendererCall, clock: () => number): Rendering | null => {
  const { pixels, size, originalSize } = photo;
  const { avatar_id, manifest } = call.avatar;
  const mesh = originalSize === null ? null : readMesh(manifest, originalSize, size);
  if (mesh === null) return null;
  const speaker = createSpeaker(openFace(toI420(pixels), mesh), { seed: seedFrom(avatar_id + call.session_id) });
  const drawMarks = callMarks(call);
  // One for all pictures: new ones would be 10 MB of garbage a second.
  const frame = toFrame(new Uint8Array(PICTURE_LENGTH));
  return {
    hear: (pcm, delayMs) => speaker.hear(pcm, delayMs, clock()),
    clear: () => speaker.clear(clock()),
    picture: () => {
      drawMarks(speaker.picture(clock(), frame.data));
      return frame;
    },
  };
};

/**
 * Creates the renderer of faces. An avatar without a face, or with a mesh that is damaged, is shown as a portrait: `onFallback` gets
 * the reason. `clock`: in milliseconds.
 */
export const createFaceRenderer = (
  onFallback: (reason: string) => void,
  clock = () => performance.now(),
): Renderer => ({
  open: async (call, load) => {
    if (call.mode === "voice") return NO_PICTURES;
    const photo = await loadPhoto(call.avatar, load);
    try {
      const speaker = openSpeaker(photo, call, clock);
      if (speaker !== null) return speaker;
      onFallback("the avatar was prepared without a face");
    } catch (error) {
      onFallback(error instanceof Error ? error.message : "unknown");
    }
    return openPortrait(photo, call, clock);
  },
});
