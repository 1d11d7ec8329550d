/** The renderer of avatars with a face: lips, eyes and head of the prepared picture move with the voice. */
import { readMesh } from "@realtime-avatar/domain/avatars/face-mesh";
import { GESTURES } from "@realtime-avatar/face/life/gestures";
import type { LoopFilm } from "@realtime-avatar/face/loop/loop-film";
import { PICTURE_LENGTH, PICTURE_SIZE, toI420 } from "@realtime-avatar/face/picture";
import { seedFrom } from "@realtime-avatar/face/seed";
import { createSpeaker } from "@realtime-avatar/face/speaker";
import { type Face, openFaceInSteps } from "@realtime-avatar/face/warp/face";
import { loadLoop } from "./loop.ts";
import { loadPhoto, type Photo } from "./photo.ts";
import { openPortrait } from "./portrait.ts";
import {
  callMarks,
  FRAME_MS,
  type LoadFile,
  NO_PICTURES,
  type Renderer,
  type RendererCall,
  type Rendering,
  SAMPLE_RATE,
  toFrame,
} from "./renderer.ts";

/**
 * A loaded avatar: its photo, its face, and its idle loop, which is still being loaded. Without a face: null and the reason.
 * Without a loop: null.
 */
type LoadedAvatar = { photo: Photo; face: Face | null; reason: string; loop: Promise<LoopFilm | null> };
type OpenedPhoto = Omit<LoadedAvatar, "loop">;

type OnFallback = (reason: string) => void;

const nextTask = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Opens a face step by step, so that messages and sound of the call are handled in between. */
const openBetweenTasks = async (picture: Uint8Array, mesh: Float32Array): Promise<Face> => {
  const steps = openFaceInSteps(picture, mesh);
  for (;;) {
    await nextTask();
    const step = steps.next();
    if (step.done) return step.value;
  }
};

/** Opens the face of a photo; null when the manifest has no valid mesh. */
const openPhoto = async (photo: Photo, { manifest }: RendererCall["avatar"]): Promise<OpenedPhoto> => {
  const { pixels, originalSize } = photo;
  try {
    const mesh = originalSize === null ? null : readMesh(manifest, originalSize, PICTURE_SIZE);
    if (mesh === null) return { photo, face: null, reason: "the avatar was prepared without a face" };
    return { photo, face: await openBetweenTasks(toI420(pixels), mesh), reason: "" };
  } catch (error) {
    return { photo, face: null, reason: error instanceof Error ? error.message : "unknown" };
  }
};

/** `onStill`: gets the reason if the loop of the avatar cannot be shown. */
const loadAvatar = async (
  avatar: RendererCall["avatar"],
  load: LoadFile,
  onStill: OnFallback,
): Promise<LoadedAvatar> => {
  const opened = await openPhoto(await loadPhoto(avatar, load), avatar);
  // The call starts with the photo, and does not wait for the loop.
  const onFailure = (error: unknown): void => onStill((error instanceof Error && error.message) || "unknown");
  return { ...opened, loop: opened.face === null ? Promise.resolve(null) : loadLoop(avatar, load, onFailure) };
};

/** `clock`: in milliseconds. */
const openSpeaker = (
  { face, loop }: LoadedAvatar & { face: Face },
  call: RendererCall,
  clock: () => number,
): Rendering => {
  const speaker = createSpeaker(face, { seed: seedFrom(call.avatar.avatar_id + call.session_id) });
  void loop.then((film) => film && speaker.show(film));
  const drawMarks = callMarks(call);
  // All pictures share one frame: new ones would be 10 MB of garbage a second.
  const frame = toFrame(new Uint8Array(PICTURE_LENGTH));
  return {
    hear: (pcm, delayMs) => speaker.hear(pcm, delayMs, clock()),
    clear: () => speaker.clear(clock()),
    picture: () => {
      drawMarks(speaker.picture(clock(), frame.data));
      return frame;
    },
    think: speaker.think,
    gesture: (name) => {
      const gesture = GESTURES.find((each) => each === name);
      if (gesture === undefined) return "unknown_action";
      return speaker.gesture(gesture) ? "accepted" : "busy";
    },
  };
};

/** Number of pictures that are drawn in a preload: the first pictures of a process take the longest. */
const WARM_PICTURES = 5;
const SILENCE = new Int16Array((SAMPLE_RATE * FRAME_MS) / 1000);

const warmUp = (face: Face): void => {
  const speaker = createSpeaker(face, { seed: 0 });
  for (let picture = 0; picture < WARM_PICTURES; picture++) {
    speaker.hear(SILENCE, 0, picture * FRAME_MS);
    speaker.picture(picture * FRAME_MS);
  }
};

/** Identifies an avatar by its files. A preparation changes the manifest. */
const keyOf = ({ avatar_id, manifest }: RendererCall["avatar"]): string => JSON.stringify([avatar_id, manifest]);

/**
 * Creates the renderer of faces. An avatar without a face, or with a damaged mesh, is shown as a portrait.
 * `onPortrait`: gets the reason. `onStill`: gets the reason if the photo of an avatar is shown instead of its idle loop.
 * `clock`: in milliseconds.
 */
export const createFaceRenderer = (
  { onPortrait, onStill }: Record<"onPortrait" | "onStill", OnFallback>,
  clock = () => performance.now(),
): Renderer => {
  let preloaded: { key: string; loading: Promise<LoadedAvatar> } | null = null;
  /** Returns the preloaded avatar. Without one, or when the preload has failed, loads it now. */
  const takeAvatar = async (avatar: RendererCall["avatar"], load: LoadFile): Promise<LoadedAvatar> => {
    const early = preloaded?.key === keyOf(avatar) ? await preloaded.loading.catch(() => null) : null;
    preloaded = null;
    return early ?? loadAvatar(avatar, load, onStill);
  };
  return {
    open: async (call, load) => {
      if (call.mode === "voice") return NO_PICTURES;
      const loaded = await takeAvatar(call.avatar, load);
      const { photo, face, reason } = loaded;
      if (face !== null) return openSpeaker({ ...loaded, face }, call, clock);
      onPortrait(reason);
      return openPortrait(photo, call, clock);
    },
    preload: async (avatar, load) => {
      const loading = loadAvatar(avatar, load, onStill);
      preloaded = { key: keyOf(avatar), loading };
      const { face } = await loading;
      if (face !== null) warmUp(face);
    },
  };
};
