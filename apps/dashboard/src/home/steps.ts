/** The first steps of a newcomer: a key, an avatar, a video, a call. Completed steps are read from the data. */
import type { ApiKey, Avatar } from "@realtime-avatar/client";
import { permits } from "@realtime-avatar/domain/api-keys/scope";
import { isPreparing } from "../avatars/data.ts";
import { isRunning, type Video } from "../videos/data.ts";

export type Step = {
  /** `waiting`: the service works on it. `failed`: the person must do it again. */
  state: "open" | "waiting" | "failed" | "done";
  /** The link that does the step. */
  with: { id: string; name: string } | null;
};

const keyStep = ([key]: readonly ApiKey[]): Step =>
  key ? { state: "done", with: key } : { state: "open", with: null };

const avatarStep = (avatars: readonly Avatar[]): Step => {
  const find = (isWanted: (avatar: Avatar) => boolean): Step["with"] => {
    const found = avatars.find(isWanted);
    return found ? { id: found.id, name: found.displayName } : null;
  };
  const ready = find(({ status }) => status === "ready");
  if (ready) return { state: "done", with: ready };
  const waiting = find(isPreparing);
  if (waiting) return { state: "waiting", with: waiting };
  const failed = find(({ status }) => status === "failed");
  return failed ? { state: "failed", with: failed } : { state: "open", with: null };
};

const videoStep = (videos: readonly Video[]): Step => {
  const find = (isWanted: (video: Video) => boolean): Step["with"] => {
    const found = videos.find(isWanted);
    return found ? { id: found.id, name: found.text ?? "A recording" } : null;
  };
  const ready = find(({ status }) => status === "ready");
  if (ready) return { state: "done", with: ready };
  const waiting = find(isRunning);
  if (waiting) return { state: "waiting", with: waiting };
  const failed = find(({ status }) => status === "failed");
  return failed ? { state: "failed", with: failed } : { state: "open", with: null };
};

export type Steps = {
  key: Step;
  avatar: Step;
  video: Step;
  /** The name of an active key that can start calls; null without one. */
  callKey: string | null;
};

/**
 * The steps before the first call, derived from the active keys, the videos, and the avatars of each relevant status.
 */
export const completedSteps = (
  keys: readonly ApiKey[],
  avatars: readonly Avatar[],
  videos: readonly Video[],
): Steps => ({
  key: keyStep(keys),
  avatar: avatarStep(avatars),
  video: videoStep(videos),
  callKey: keys.find(({ scopes }) => permits(scopes, "realtime:write"))?.name ?? null,
});
