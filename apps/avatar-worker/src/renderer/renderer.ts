/** What a renderer is: it turns the voice of the avatar into pictures. */
import { VideoBufferType, VideoFrame } from "@livekit/rtc-node";
import type { AssignedCall } from "@realtime-avatar/domain/calls/worker-sync";
import { createMarks, type DrawMarks } from "@realtime-avatar/face/marks";
import { PICTURE_SIZE } from "@realtime-avatar/face/picture";

/** All sound is 16-bit PCM, mono, at this rate, in frames of this length. */
export const SAMPLE_RATE = 48_000;
export const FRAME_MS = 20;
export const PICTURES_PER_SECOND = 25;

/** What a renderer reads of a call. */
export type RendererCall = Pick<
  AssignedCall,
  "session_id" | "avatar" | "input" | "environment" | "mode" | "recording"
> & {
  /** Drawn into each picture: see `createMarks`. */
  label: string;
};

/** Reads a file that the manifest of an avatar names. */
export type LoadFile = (file: string) => Promise<Uint8Array>;

export type Renderer = {
  open(call: RendererCall, load: LoadFile): Promise<Rendering>;
  /** Loads an avatar before its call, which `open` then opens faster. Rejects when it cannot be loaded. */
  preload(avatar: RendererCall["avatar"], load: LoadFile): Promise<void>;
};

export type Rendering = {
  /**
   * The avatar will say this: it is heard `delayMs` from now. Called in the order of the sound, as soon as it is known, because lips
   * begin to move before their sound.
   */
  hear(pcm: Int16Array, delayMs: number): void;
  /** The sound that is not heard yet was dropped: the avatar was interrupted. */
  clear(): void;
  /**
   * Returns the picture for now. The next call can draw into the same frame: the library copies it when it is captured. Not called in
   * the mode `voice`.
   */
  picture(): VideoFrame;
  /** Whether the avatar thinks of what to say, which is seen. */
  think(isThinking: boolean): void;
  /** Makes the gesture with this name from the next picture on. */
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

/** A frame of an I420 picture, which is what encoders take. */
export const toFrame = (picture: Uint8Array): VideoFrame =>
  new VideoFrame(picture, PICTURE_SIZE, PICTURE_SIZE, VideoBufferType.I420);
