/** The goals of credits and calls: ratios of two rates that were measured in the same round, and times. */
import { median } from "../machine.ts";
import { table } from "../report.ts";

/** A ratio in each round with the minimum of its median; or a figure with its unit and its maximum. */
export type Goal = { name: string; ratios: readonly number[] } & ({ least: number } | { most: number; unit: string });

/** The ratios of two lists of rates, round by round. */
export const divideRates = (rates: readonly number[], others: readonly number[]): number[] =>
  rates.flatMap((rate, round) => (others[round] ? [rate / others[round]] : []));

/** The median of values, and their range if there are several; NaN by `format` if there is no value. */
export const formatRange = (values: readonly number[], format: (value: number) => string): string =>
  values.length < 2
    ? format(values[0] ?? Number.NaN)
    : `${format(median(values))} [${format(Math.min(...values))}–${format(Math.max(...values))}]`;

const rowOf = (goal: Goal): string[] => {
  const { name, ratios } = goal;
  const middle = median(ratios);
  if ("least" in goal) {
    const measured = formatRange(ratios, (ratio) => ratio.toFixed(2));
    return [name, `≥ ${goal.least}`, measured, middle >= goal.least ? "reached" : "missed"];
  }
  const { most, unit } = goal;
  const measured = formatRange(ratios, (value) => value.toFixed(value < 10 ? 2 : 0));
  return [name, `≤ ${most} ${unit}`, `${measured} ${unit}`, middle <= most ? "reached" : "missed"];
};

/** The table of goals, in Markdown. Goals without a measurement are left out. */
export const goalTable = (goals: readonly Goal[]): string =>
  table(["goal", "", "measured", ""], goals.filter(({ ratios }) => ratios.length > 0).map(rowOf));
