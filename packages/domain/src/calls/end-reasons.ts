/** The reasons for the end of a call. */
export const END_REASONS = [
  "user_ended",
  "session_cap",
  "idle",
  "disconnected",
  "out_of_credits",
  "agent_ended",
  "failed",
] as const;
export type EndReason = (typeof END_REASONS)[number];
