/** The stages of an answer in words, and times within a call. */

/** The stages by their names in a transcript, in order. */
export const STAGES = {
  end_of_speech: "the last sound of the person arrives",
  end_of_turn: "silence, until the turn is over",
  text: "the recognizer writes the text",
  first_token: "the language model begins",
  first_sound: "the first sentence gets its voice",
  heard: "the sound reaches the person",
} as const;

export type Stage = { stage: string; name: string; ms: number };

/** The timed stages in words. Stages of a newer version keep their names. */
export const timedStages = (timings: Readonly<Record<string, unknown>> | undefined): Stage[] => {
  const known = Object.keys(STAGES);
  const places = (stage: string): number => (known.includes(stage) ? known.indexOf(stage) : known.length);
  return Object.entries(timings ?? {})
    .flatMap(([stage, ms]) =>
      typeof ms === "number" ? [{ stage, name: STAGES[stage as keyof typeof STAGES] ?? stage, ms }] : [],
    )
    .sort((a, b) => places(a.stage) - places(b.stage));
};

export const totalText = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** A time within a call, such as `1:05`. */
export const clockTime = (ms: number): string => {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
};
