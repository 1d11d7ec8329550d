/** What a renderer is: it turns the voice of the avatar into pictures. */
import type { VideoFrame } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";

/** All sound is 16-bit PCM, mono, at this rate, in frames of this length. */
export const SAMPLE_RATE = 48_000;
export const FRAME_MS = 20;
/** Width and height of a picture. */
export const PICTURE_SIZE = 512;
export const PICTURES_PER_SECOND = 25;

/** What a renderer reads of a call. */
export type RendererCall = Pick<AssignedCall, "avatar" | "input" | "environment" | "mode">;

/** The fields of the start of a call that the renderer can use. The others are named to the caller as ignored. */
export const FEATURES: readonly string[] = [];

export type Renderer = {
  /** `load` reads a file that the manifest of the avatar names. */
  open(call: RendererCall, load: (file: string) => Promise<Uint8Array>): Promise<Rendering>;
};

export type Rendering = {
  /** The avatar says this now. */
  hear(pcm: Int16Array): void;
  /** Returns the current picture. The room sends the frame itself, so do not change it later. Not called in the mode `voice`. */
  picture(): VideoFrame;
};
