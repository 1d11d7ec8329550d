/**
 * The microphone of the person. It is opened before a call starts, so that the time of the permission dialog is not
 * charged.
 */
import {
  createAudioAnalyser,
  createLocalAudioTrack,
  type LocalAudioTrack,
  type LocalTrack,
  type Room,
  Track,
} from "livekit-client";

/** The state of the microphone: its track, or why it cannot be used. */
export type Microphone = { track: LocalAudioTrack; fault: null } | { track: null; fault: string };

/** The text for a fault of the microphone, by the name of the browser's error. */
const faultText = (name: string): string => {
  if (name === "NotAllowedError") {
    return "The browser does not let this page use the microphone, so the avatar hears nothing. Allow it in the address bar, and try the microphone again.";
  }
  if (name === "NotFoundError") return "This device has no microphone, so the avatar hears nothing.";
  return "The microphone cannot be used, so the avatar hears nothing. Browsers allow it on https and on localhost only, and to one program at a time on some devices.";
};

export const microphoneFault = (error: unknown): string => faultText(error instanceof Error ? error.name : "");

/** Requests the microphone, and opens it. */
export const openMicrophone = async (): Promise<Microphone> => {
  try {
    return { track: await createLocalAudioTrack(), fault: null };
  } catch (error) {
    return { track: null, fault: microphoneFault(error) };
  }
};

/**
 * Publishes the microphone for the avatar. The types of the library do not accept their own subclass with
 * `exactOptionalPropertyTypes`.
 */
export const publishMicrophone = (room: Room, track: LocalAudioTrack): Promise<unknown> =>
  room.localParticipant.publishTrack(track as LocalTrack, { source: Track.Source.Microphone });

const LEVEL_MS = 100;

/** Calls `onLevel` with the loudness, from 0 to 1, ten times a second. Returns a function that stops it. */
export const watchLevel = (track: LocalAudioTrack, onLevel: (level: number) => void): (() => void) => {
  const { calculateVolume, cleanup } = createAudioAnalyser(track);
  const timer = setInterval(() => onLevel(calculateVolume()), LEVEL_MS);
  return () => {
    clearInterval(timer);
    // The audio context can already be closed.
    void cleanup().catch(() => {});
  };
};
