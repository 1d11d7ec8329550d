/**
 * The short-lived keys that pages create for themselves on a click: for a call, for a video, and for requests of
 * `/docs`.
 */
import type { ApiKeyWithCreator } from "@realtime-avatar/client";

/** The name of the key for the page of calls. */
export const CALL_KEY_NAME = "Try a call";
/** The name of the key for the form that creates a video. */
export const VIDEO_KEY_NAME = "Create a video";
/** The life of such a key, in minutes. */
export const TRIAL_MINUTES = 30;

const NAMES: readonly string[] = [CALL_KEY_NAME, VIDEO_KEY_NAME, "API reference"];
/** The page reads the clock of the service, in whole seconds, before the key is created. */
const TOLERANCE_MS = 60_000;

type Trial = Pick<ApiKeyWithCreator, "name" | "parentId" | "createdAt" | "expiresAt">;

/** The group of a key in charts. All keys of trials are one group. */
export const chartGroup = (id: string, name: string | null): string =>
  name !== null && NAMES.includes(name) ? name : id;

/** Whether a page has created the key. A program's key can have the same name, but usually lives longer. */
export const isTrialKey = ({ name, parentId, createdAt, expiresAt }: Trial): boolean =>
  NAMES.includes(name) &&
  parentId === null &&
  expiresAt !== null &&
  Date.parse(expiresAt) - Date.parse(createdAt) <= TRIAL_MINUTES * 60_000 + TOLERANCE_MS;
