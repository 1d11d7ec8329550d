/** The keys that pages create for themselves on a click, and that soon end: for a call, for a video, and for requests of `/docs`. */
import type { ApiKeyWithCreator } from "@realtime-avatar/client";

/** What the page of calls names its key. */
export const CALL_KEY_NAME = "Try a call";
/** The name of the key with which the form creates a video. */
export const VIDEO_KEY_NAME = "Create a video";
/** How long such a key lasts. */
export const TRIAL_MINUTES = 30;

const NAMES: readonly string[] = [CALL_KEY_NAME, VIDEO_KEY_NAME, "API reference"];
/** The page reads the clock of the service, in whole seconds, before the key is created. */
const TOLERANCE_MS = 60_000;

type Trial = Pick<ApiKeyWithCreator, "name" | "parentId" | "createdAt" | "expiresAt">;

/** The group of a key in charts: the keys of all trials are one. */
export const chartGroup = (id: string, name: string | null): string =>
  name !== null && NAMES.includes(name) ? name : id;

/** Whether a page has created the key. A key of a program can have the name, but hardly ends so soon. */
export const isTrialKey = ({ name, parentId, createdAt, expiresAt }: Trial): boolean =>
  NAMES.includes(name) &&
  parentId === null &&
  expiresAt !== null &&
  Date.parse(expiresAt) - Date.parse(createdAt) <= TRIAL_MINUTES * 60_000 + TOLERANCE_MS;
