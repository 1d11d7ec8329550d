/** State machines as tables: for each status, the statuses to which it can change. Any other transition is refused. */
import { Problem } from "./problem.ts";

type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

/** The transitions from `from`; none from a status that only a newer version knows. */
export const allowedFrom = <State extends string>(table: Transitions<State>, from: State): readonly State[] =>
  Object.hasOwn(table, from) ? table[from] : [];

/** Whether `table` allows the transition. A status has no transition to itself. */
export const canTransition = <State extends string>(table: Transitions<State>, from: State, to: State): boolean =>
  allowedFrom(table, from).includes(to);

/** The states from which `table` allows a transition to `to`. */
export const statesBefore = <State extends string>(table: Transitions<State>, to: State): State[] =>
  (Object.keys(table) as State[]).filter((from) => canTransition(table, from, to));

/** The problem of a transition that the current status does not allow. `allowed` lists the transitions that it does. */
export const invalidTransition = (current: string, allowed: readonly string[]): Problem => {
  const transitions = allowed.map((status) => `\`${status}\``).join(", ") || "none";
  const detail = `Status is \`${current}\`; allowed transitions: ${transitions}.`;
  return new Problem("invalid_transition", detail, { currentStatus: current, allowedStatuses: allowed });
};
