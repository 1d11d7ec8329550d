/** A track of sound in a recording: the sound of one or more sources, mixed, as frames of AAC. */
import { FRAGMENT_FRAME_SAMPLES } from "@realtime-avatar/domain/recordings/fragment";
import { createAacEncoder } from "@realtime-avatar/video/aac/encoder";
import type { Timeline } from "./timeline.ts";

const [LEAST, GREATEST] = [-32_768, 32_767];

/**
 * Returns a function that takes the next samples of the sources and encodes them. A frame of silence that follows
 * silence is constant, and takes no processor time.
 */
export const createSoundTrack = (sources: readonly Timeline[]): (() => Uint8Array) => {
  const encoder = createAacEncoder();
  const mix = new Int32Array(FRAGMENT_FRAME_SAMPLES);
  const pcm = new Int16Array(FRAGMENT_FRAME_SAMPLES);
  let wasSilent = false;
  let silence: Uint8Array | null = null;
  return () => {
    mix.fill(0);
    for (const source of sources) source.takeInto(mix);
    const isSilent = mix.every((value) => value === 0);
    const isSilence = isSilent && wasSilent;
    wasSilent = isSilent;
    if (isSilence && silence !== null) return silence;
    for (let index = 0; index < pcm.length; index++) {
      pcm[index] = Math.min(GREATEST, Math.max(LEAST, mix[index] as number));
    }
    const frame = encoder.encode(pcm);
    if (isSilence) silence = frame;
    return frame;
  };
};
