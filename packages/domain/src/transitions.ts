/**
 * State machines as tables: for each status, the statuses to which it can change. Any other transition is refused. Also
 * checks the version that a change expects.
 */
import { Problem } from "./problem.ts";

type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

/** The transitions from `from`; an empty list for a status that only a newer version knows. */
export const allowedFrom = <State extends string>(table: Transitions<State>, from: State): readonly State[] =>
  Object.hasOwn(table, from) ? table[from] : [];

/** Whether `table` allows the transition. A table has no transition from a status to itself. */
export const canTransition = <State extends string>(table: Transitions<State>, from: State, to: State): boolean =>
  allowedFrom(table, from).includes(to);

/** The states from which `table` allows a transition to `to`. */
export const statesBefore = <State extends string>(table: Transitions<State>, to: State): State[] =>
  (Object.keys(table) as State[]).filter((from) => canTransition(table, from, to));

/** The problem of a transition that the current status does not allow. `allowed` lists the allowed transitions. */
export const invalidTransition = (current: string, allowed: readonly string[]): Problem => {
  const transitions = allowed.map((status) => `\`${status}\``).join(", ") || "none";
  const detail = `Status is \`${current}\`; allowed transitions: ${transitions}.`;
  return new Problem("invalid_transition", detail, { currentStatus: current, allowedStatuses: allowed });
};

/** Whether a version meets the `If-Match` of the request; without the header, every version does. */
export type MatchesVersion = (version: number) => boolean;

/** Throws the problem `precondition_failed` when `matches` rejects the version of the resource. */
export const checkVersion = ({ version }: { version: number }, matches: MatchesVersion): void => {
  if (!matches(version)) {
    throw new Problem("precondition_failed", "The version of the resource does not match If-Match.");
  }
};
