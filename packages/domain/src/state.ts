/** State machines as tables: for each state, the states it may move to. What is not listed is refused. */
import { Problem } from "./problem.ts";

export const API_KEY_TRANSITIONS = {
  active: ["revoked", "expired"],
  revoked: [],
  expired: [],
} as const;
export type ApiKeyStatus = keyof typeof API_KEY_TRANSITIONS;
export const API_KEY_STATUSES = Object.keys(API_KEY_TRANSITIONS) as ApiKeyStatus[];

export const AVATAR_TRANSITIONS = {
  draft: ["preprocessing", "deleted"],
  preprocessing: ["ready", "failed", "deleted"],
  ready: ["preprocessing", "disabled", "deleted"],
  failed: ["preprocessing", "deleted"],
  disabled: ["ready", "deleted"],
  deleted: [],
} as const;
export type AvatarStatus = keyof typeof AVATAR_TRANSITIONS;
export const AVATAR_STATUSES = Object.keys(AVATAR_TRANSITIONS) as AvatarStatus[];

type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>;

/** Whether `table` lets an object move from one state to another. Staying where it is, is no move. */
export const canTransition = <State extends string>(table: Transitions<State>, from: State, to: State): boolean =>
  table[from].includes(to);

/** The states from which `table` lets an object move to `to`. */
export const statesBefore = <State extends string>(table: Transitions<State>, to: State): State[] =>
  (Object.keys(table) as State[]).filter((from) => canTransition(table, from, to));

/** The problem of an object that was found in a state from which it cannot be moved as was asked, but to `allowed`. */
export const invalidTransition = (found: string, allowed: readonly string[]): Problem => {
  const detail = `It is ${found}; from there it can be made ${allowed.join(" or ") || "nothing else"}.`;
  return new Problem("invalid_transition", detail, { currentStatus: found, allowedStatuses: allowed });
};
