/** A renderer turns the voice of the avatar into pictures. */
import { VideoBufferType, VideoFrame } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { createMarks, type DrawMarks } from "@realtime-avatar/face/marks";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";

/** All sound is 16-bit PCM, mono, at this rate, in frames of this length. */
export const SAMPLE_RATE = 48_000;
export const FRAME_MS = 20;
export const PICTURES_PER_SECOND = 25;

/** The part of a call that a renderer uses. */
export type RendererCall = Pick<
  AssignedCall,
  "session_id" | "avatar" | "input" | "environment" | "mode" | "recording"
> & {
  /** Label that is drawn into each picture: see `createMarks`. */
  label: string;
};

/** Reads a file named in the manifest of an avatar. */
export type LoadFile = (file: string) => Promise<Uint8Array>;

export type Renderer = {
  open(call: RendererCall, load: LoadFile): Promise<Rendering>;
  /** Loads an avatar before its call, so that `open` is faster. Rejects when it cannot be loaded. */
  preload(avatar: RendererCall["avatar"], load: LoadFile): Promise<void>;
};

export type Rendering = {
  /**
   * Takes sound of the avatar that is heard `delayMs` from now. Called in the order of the sound, as soon as the sound
   * is known, because lips move before their sound.
   */
  hear(pcm: Int16Array, delayMs: number): void;
  /** The avatar was interrupted, and unheard sound was dropped. */
  clear(): void;
  /**
   * Returns the current picture. The next call can draw into the same frame: the library copies it when it is captured.
   * Not called in the mode `voice`.
   */
  picture(): VideoFrame;
  /** Sets whether the avatar looks thoughtful. */
  think(isThinking: boolean): void;
  /** Makes the gesture `name`, beginning with the next picture. */
  gesture(name: string): GestureResult;
};

/** `busy`: the face makes another gesture. `no_face`: the avatar has no face, or the call no picture. */
export type GestureResult = "accepted" | "busy" | "unknown_action" | "no_face";

/** A rendering of a call without pictures. */
export const NO_PICTURES: Rendering = {
  hear: () => {},
  clear: () => {},
  picture: () => {
    throw new Error("a call by voice has no pictures");
  },
  think: () => {},
  gesture: () => "no_face",
};

/** Returns a function that draws the marks of a call into a picture. */
export const callMarks = ({ environment, label, recording }: RendererCall): DrawMarks =>
  createMarks({ label, isTest: environment === "test", isRecorded: recording !== undefined });

/** A frame of an I420 picture, the format of encoders. */
export const toFrame = (picture: Uint8Array): VideoFrame =>
  new VideoFrame(picture, PICTURE_SIZE, PICTURE_SIZE, VideoBufferType.I420);
