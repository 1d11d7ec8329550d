/** Runs a turn detector on a sound. */
import { loadNetwork } from "../network.ts";
import { type BargeIn, createTurnDetector, type TurnEvent, type Verdict } from "../turn-detector.ts";
import { createVad, VAD_RATE, WINDOW_SAMPLES } from "../vad.ts";
import { concat, mix, roomNoise, silence } from "./sounds-testing.ts";

/** An event, with the length of sound that was heard before it. */
export type TimedEvent = { atMs: number; event: TurnEvent };

export type TurnScript = {
  bargeIn?: BargeIn;
  /** The verdict on the text of a pause. It comes `recognizerMs` later. */
  decide?: (pause: number) => Verdict | null;
  recognizerMs?: number;
  /** Silence before and after the sound. */
  beforeMs?: number;
  afterMs?: number;
};

/** The events of a sound in the noise of a room. Times are relative to its first sample. */
export const detectTurns = (sound: Float32Array, script: TurnScript = {}): TimedEvent[] => {
  const { bargeIn = "none", decide = () => null, recognizerMs = 0, beforeMs = 1000, afterMs = 2500 } = script;
  const whole = concat(silence(beforeMs), sound, silence(afterMs));
  const noisy = mix(whole, roomNoise(whole.length));
  const events: TimedEvent[] = [];
  const verdicts: { atMs: number; pause: number; verdict: Verdict }[] = [];
  let nowMs = -beforeMs;
  const onEvent = (event: TurnEvent): void => {
    events.push({ atMs: nowMs, event });
    const verdict = event.kind === "pause" ? decide(event.pause) : null;
    if (event.kind === "pause" && verdict !== null) {
      verdicts.push({ atMs: nowMs + recognizerMs, pause: event.pause, verdict });
    }
  };
  const detector = createTurnDetector({ vad: createVad(loadNetwork()), bargeIn: () => bargeIn, onEvent });
  for (let at = 0; at + WINDOW_SAMPLES <= noisy.length; at += WINDOW_SAMPLES) {
    nowMs = (1000 * (at + WINDOW_SAMPLES)) / VAD_RATE - beforeMs;
    detector.hear(noisy.subarray(at, at + WINDOW_SAMPLES));
    while (verdicts[0] && verdicts[0].atMs <= nowMs) {
      const { pause, verdict } = verdicts.shift() as (typeof verdicts)[0];
      detector.resolvePause(pause, verdict);
    }
  }
  return events;
};

export const kinds = (events: readonly TimedEvent[]): string[] => events.map(({ event }) => event.kind);

export const filterEvents = <Kind extends TurnEvent["kind"]>(events: readonly TimedEvent[], kind: Kind) =>
  events.flatMap(({ atMs, event }) =>
    event.kind === kind ? [{ ...(event as Extract<TurnEvent, { kind: Kind }>), atMs }] : [],
  );
