/** The goals of credits: ratios of two rates that were measured in the same round. */
import { median } from "../machine.ts";
import { table } from "../report.ts";

/** A ratio, in each round, and what its median must reach at least. */
export type Goal = { name: string; least: number; ratios: readonly number[] };

/** The ratios of two lists of rates, round by round. */
export const ratiosOf = (rates: readonly number[], others: readonly number[]): number[] =>
  rates.flatMap((rate, round) => (others[round] ? [rate / others[round]] : []));

/** The median, and the range when there are several. */
export const rangeOf = (values: readonly number[], format: (value: number) => string): string =>
  values.length === 1
    ? format(values[0] ?? 0)
    : `${format(median(values))} [${format(Math.min(...values))}–${format(Math.max(...values))}]`;

/** The table of goals, in Markdown. Goals without a measurement are left out. */
export const goalTable = (goals: readonly Goal[]): string =>
  table(
    ["ratio", "goal", "measured", ""],
    goals
      .filter(({ ratios }) => ratios.length > 0)
      .map(({ name, least, ratios }) => [
        ...[name, `≥ ${least}`, rangeOf(ratios, (ratio) => ratio.toFixed(2))],
        median(ratios) >= least ? "reached" : "missed",
      ]),
  );
