/**
 * The stages of a turn, from the last sound of the person until the answer is heard. Each begins at the end of the
 * previous one.
 */
import { ClosedObject, Count } from "@realtime-avatar/domain/schema";
import { type Static, Type } from "@sinclair/typebox";

export const TURN_STAGES = [
  /** The last sound of the person travels to the worker. */
  "end_of_speech",
  /** The person is silent, until the turn is over. */
  "end_of_turn",
  /** The wait for the recognizer after the end of the turn. 0 when the text was known before. */
  "text",
  /** The wait for the first token of the language model. */
  "first_token",
  /** The rest of the first sentence and its voice, until the first sound is queued. */
  "first_sound",
  /** The sound travels to the person. */
  "heard",
] as const;
export type TurnStage = (typeof TURN_STAGES)[number];

/** The longest time that a stage can take, in milliseconds. */
const MAX_STAGE_MS = 600_000;
const Milliseconds = Type.Optional(Count({ maximum: MAX_STAGE_MS }));

/**
 * How long each stage of a turn took, in whole milliseconds. A typed turn begins with `first_token`. An unheard turn
 * ends with the last stage that it reached.
 */
export const TurnTimings = ClosedObject({
  end_of_speech: Milliseconds,
  end_of_turn: Milliseconds,
  text: Milliseconds,
  first_token: Milliseconds,
  first_sound: Milliseconds,
  heard: Milliseconds,
} satisfies Record<TurnStage, typeof Milliseconds>);
export type TurnTimings = Static<typeof TurnTimings>;

/** The sum of all stages, in milliseconds. For a spoken and answered turn, it is the time that the person waited. */
export const totalMs = (timings: TurnTimings): number =>
  TURN_STAGES.reduce((sum, stage) => sum + (timings[stage] ?? 0), 0);

export type TurnClock = {
  /** Ends a stage, at the time `at` or now. A stage that has ended is not changed. */
  mark(stage: TurnStage, at?: number): void;
  timings(): TurnTimings;
};

/** Times the stages of one turn, which begins at `startedAt`. All times are in milliseconds of the clock `now`. */
export const createTurnClock = (now: () => number, startedAt = now()): TurnClock => {
  const timings: TurnTimings = {};
  let passed = 0;
  return {
    mark: (stage, at = now()) => {
      if (timings[stage] !== undefined) return;
      // The ends are rounded, so that the sum of the stages is exact.
      const end = Math.max(passed, Math.round(at - startedAt));
      timings[stage] = Math.min(MAX_STAGE_MS, end - passed);
      passed = end;
    },
    timings: () => ({ ...timings }),
  };
};
