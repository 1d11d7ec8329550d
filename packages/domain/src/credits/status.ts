/** The statuses of a usage session, the transitions between them, and the reasons for its end. */
import { END_REASONS } from "../calls/end-reasons.ts";

/** The wire names of the live product. A session is open while it is `reserved` or `started`. */
export const SESSION_TRANSITIONS = {
  reserved: ["started", "released", "failed"],
  started: ["released", "failed"],
  released: [],
  failed: [],
} as const;
export type SessionStatus = keyof typeof SESSION_TRANSITIONS;
export const SESSION_STATUSES = Object.keys(SESSION_TRANSITIONS) as SessionStatus[];

/**
 * The reason for the end of a session: one that the avatar worker of a call reports (`END_REASONS`), or one that only
 * the service knows.
 */
export const SESSION_END_REASONS = [
  ...END_REASONS,
  "released",
  "not_started",
  "lease_expired",
  "key_ended",
  "operator_ended",
] as const;
export type SessionEndReason = (typeof SESSION_END_REASONS)[number];
