/** Hears a person: removes the avatar's voice from the person's sound, and detects turns. */
import { createResampler } from "@realtime-avatar/face/sound/resample";
import { createEchoCanceller, type EchoCanceller, FRAME_SAMPLES } from "./echo-canceller.ts";
import { createEchoPresence } from "./echo-presence.ts";
import { loadNetwork } from "./network.ts";
import { type BargeIn, createTurnDetector, type TurnDetector, type TurnEvent } from "./turn-detector.ts";
import { createVad, VAD_RATE, WINDOW_SAMPLES } from "./vad.ts";

/** After 1 to 1.2 s of the avatar's voice, the canceller has learned its path. */
const SETTLED_MS = 2000;
const SAMPLES_PER_MS = 48;

export type HearingOptions = {
  /** `heardUntil`: when the last sound of the event was heard, in milliseconds of the clock `now`. */
  onEvent: (event: TurnEvent, heardUntil: number) => void;
  /** Whether the avatar speaks or thinks. */
  isAvatarActive: () => boolean;
  /** null: no canceller. An interruption then takes 960 ms of speech. */
  canceller?: EchoCanceller | null;
  now?: () => number;
};

export type Hearing = {
  /**
   * Takes the person's sound, 16-bit PCM at 48 kHz, mono. Costs about 7 ms of processor time a second, and 14 ms while
   * the avatar speaks.
   */
  hear(pcm: Int16Array): void;
  /** Takes the avatar's sound, 16-bit PCM at 48 kHz, mono, which is sent in `aheadMs`. */
  play(pcm: Int16Array, aheadMs: number): void;
  /** Drops the avatar's sound that was not sent yet. */
  clear(): void;
  /** Passes the verdict on a pause to the turn detector. */
  resolvePause: TurnDetector["resolvePause"];
  close(): void;
};

/**
 * Returns a function that splits its samples into frames of `length` and calls `onFrame` for each. The next frame
 * overwrites it.
 */
const createFrames = (length: number, onFrame: (frame: Float32Array) => void): ((samples: Float32Array) => void) => {
  const frame = new Float32Array(length);
  let filled = 0;
  return (samples) => {
    for (let index = 0; index < samples.length; index++) {
      frame[filled++] = samples[index] as number;
      if (filled < length) continue;
      filled = 0;
      onFrame(frame);
    }
  };
};

/** The hearing of one call. */
export const createHearing = (options: HearingOptions): Hearing => {
  const { onEvent, isAvatarActive, canceller = createEchoCanceller(), now = () => performance.now() } = options;
  const presence = createEchoPresence();
  let playedMs = 0;
  const bargeIn = (): BargeIn => {
    if (!isAvatarActive()) return "none";
    if (presence.isAbsent()) return "usual";
    if (canceller === null) return "careful";
    return playedMs < SETTLED_MS ? "settling" : "usual";
  };
  /**
   * `at`: when the last sound came. `ms`: all received sound. `takenMs`: the part that the detector has taken. All in
   * milliseconds.
   */
  const received = { at: 0, ms: 0, takenMs: 0 };
  const detector = createTurnDetector({
    ...{ vad: createVad(loadNetwork()), bargeIn },
    onEvent: (event) => onEvent(event, received.at - (received.ms - received.takenMs)),
  });
  const resampleHeard = createResampler();
  const resamplePlayed = createResampler();
  const addToWindow = createFrames(WINDOW_SAMPLES, (window) => {
    received.takenMs += (1000 * WINDOW_SAMPLES) / VAD_RATE;
    detector.hear(window);
  });
  const addToFrame = createFrames(FRAME_SAMPLES, (frame) => {
    presence.hear(frame);
    if (!presence.isAbsent()) canceller?.clean(frame);
    addToWindow(frame);
  });
  return {
    hear: (sound) => {
      received.at = now();
      received.ms += sound.length / SAMPLES_PER_MS;
      addToFrame(resampleHeard(sound));
    },
    play: (sound, aheadMs) => {
      playedMs += sound.length / SAMPLES_PER_MS;
      const samples = resamplePlayed(sound);
      presence.play(samples, aheadMs);
      if (!presence.isAbsent()) canceller?.play(samples, aheadMs);
    },
    clear: () => {
      presence.clear();
      canceller?.clear();
    },
    resolvePause: (pause, verdict) => {
      if (verdict === "ignored" && presence.isAbsent()) {
        presence.doubt();
        // The canceller has rested, and learns the path of the voice again.
        playedMs = 0;
      }
      detector.resolvePause(pause, verdict);
    },
    close: () => canceller?.close(),
  };
};
