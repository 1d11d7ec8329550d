/** The statuses of an avatar, the transitions between them, and the transitions that a caller can make. */
import { allowedFrom, statesBefore } from "../transitions.ts";

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

/** The statuses that a caller can set. The worker that prepares the avatar makes the other transitions. */
export const SETTABLE_STATUSES = ["ready", "disabled"] as const satisfies readonly AvatarStatus[];

type SettableStatus = (typeof SETTABLE_STATUSES)[number];

const isSettable = (status: AvatarStatus): status is SettableStatus =>
  SETTABLE_STATUSES.some((settable) => settable === status);

/** The statuses that a list includes: `filter` alone, or every status except `deleted` when there is no filter. */
export const listedStatuses = (filter: AvatarStatus | undefined): AvatarStatus[] =>
  filter === undefined ? AVATAR_STATUSES.filter((status) => status !== "deleted") : [filter];

/**
 * The statuses in which an avatar accepts `update`. Setting `status` requires the other settable status. Other fields
 * can be changed in every status that is not terminal.
 */
export const updatableStatuses = ({ status }: { status?: SettableStatus }): AvatarStatus[] =>
  status === undefined
    ? AVATAR_STATUSES.filter((from) => AVATAR_TRANSITIONS[from].length > 0)
    : statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, status).filter((from) => isSettable(from));

/**
 * The statuses to which a caller can change an avatar in status `from`: `deleted` and the settable ones. An empty list
 * for a status that only a newer version knows.
 */
export const writableStatuses = (from: AvatarStatus): AvatarStatus[] =>
  allowedFrom<AvatarStatus>(AVATAR_TRANSITIONS, from).filter(
    (to) => to === "deleted" || (isSettable(to) && updatableStatuses({ status: to }).includes(from)),
  );

/** The statuses in which an avatar can be deleted. */
export const DELETABLE_STATUSES: readonly AvatarStatus[] = statesBefore<AvatarStatus>(AVATAR_TRANSITIONS, "deleted");
