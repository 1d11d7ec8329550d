/** The first steps of a newcomer: a key, an avatar, a call. What is done is read from the data. */
import type { ApiKey, Avatar } from "@realtime-avatar/client";
import { isPreparing } from "../avatars/data.ts";

export type Step = {
  /** `waiting`: the service works on it. `failed`: the person has to do it again. */
  state: "open" | "waiting" | "failed" | "done";
  /** What the step is done with. */
  with: { id: string; name: string } | null;
};

const keyStep = ([key]: readonly ApiKey[]): Step =>
  key ? { state: "done", with: key } : { state: "open", with: null };

const avatarStep = (newest: readonly Avatar[]): Step => {
  const find = (isWanted: (avatar: Avatar) => boolean): Step["with"] => {
    const found = newest.find(isWanted);
    return found ? { id: found.id, name: found.displayName } : null;
  };
  const ready = find(({ status }) => status === "ready");
  if (ready) return { state: "done", with: ready };
  const waiting = find(isPreparing);
  if (waiting) return { state: "waiting", with: waiting };
  const failed = find(({ status }) => status === "failed");
  return failed ? { state: "failed", with: failed } : { state: "open", with: null };
};

/** The steps before the first call, of the active keys and the newest avatars. */
export const stepsOf = (keys: readonly ApiKey[], newest: readonly Avatar[]): { key: Step; avatar: Step } => ({
  key: keyStep(keys),
  avatar: avatarStep(newest),
});
