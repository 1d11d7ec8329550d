/** Converts the sound of a call, which comes in pieces and with gaps, to the shapes of the mouth by the clock. */
import { smoothstep } from "./numbers.ts";
import { mixShapes, type ShapeTrack, SILENT } from "./shape-track.ts";
import { createVisemes, FIRST_SHAPE_MS, SHAPE_STEP_MS, type Shape } from "./visemes.ts";

const SAMPLES_PER_MS = 48;

/** A piece whose start differs from the expected one by more than this begins a new stretch of sound. */
const JITTER_MS = 60;
/** A smaller difference corrects the clock of the sound by this share of it. */
const CORRECTION = 0.1;
/** The silence that separates two stretches, because the network hears 120 ms at once. */
const PAUSE_MS = 130;
/** After an interruption, the mouth closes within this time. */
const CLOSE_MS = 110;

export type Hearing = {
  /** Takes a piece of sound (16 bit, 48 kHz, mono) that starts to play at `startMs` of the clock. */
  hear: (pcm: Int16Array, startMs: number) => void;
  /** Drops all sound after a time, and closes the mouth. */
  clear: (timeMs: number) => void;
};

/** Writes the shapes to `track`. */
export const createHearing = (track: ShapeTrack): Hearing => {
  const visemes = createVisemes();
  const pause = new Int16Array(PAUSE_MS * SAMPLES_PER_MS);
  /** The length of the sound so far, the number of its known shapes, and its start by the clock. */
  let heardMs = 0;
  let known = 0;
  let originMs: number | null = null;
  let isCleared = false;

  const listen = (pcm: Int16Array, keep: boolean): void => {
    heardMs += pcm.length / SAMPLES_PER_MS;
    for (const shape of visemes.hear(pcm)) {
      const timeMs = (originMs ?? 0) + FIRST_SHAPE_MS + SHAPE_STEP_MS * known++;
      if (keep) track.add(timeMs, shape);
    }
  };

  const startStretch = (startMs: number, lateMs: number): void => {
    // A gap is silence. The shapes of dropped or replaced sound are removed.
    const isGap = lateMs > 0 && !isCleared;
    listen(isGap ? pause.subarray(0, Math.round(lateMs * SAMPLES_PER_MS)) : pause, isGap);
    originMs = startMs - heardMs;
    isCleared = false;
  };

  return {
    hear: (pcm, startMs) => {
      if (originMs === null) originMs = startMs;
      const lateMs = startMs - originMs - heardMs;
      if (isCleared || Math.abs(lateMs) > JITTER_MS) startStretch(startMs, lateMs);
      else originMs += CORRECTION * lateMs;
      listen(pcm, true);
    },
    clear: (timeMs) => {
      const last: Shape = track.at(timeMs);
      for (let afterMs = 0; afterMs <= CLOSE_MS; afterMs += SHAPE_STEP_MS) {
        track.add(timeMs + afterMs, mixShapes(last, SILENT, smoothstep(0, CLOSE_MS, afterMs)));
      }
      isCleared = true;
    },
  };
};
