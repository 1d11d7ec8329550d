/** The statuses of a usage session, and the transitions between them. */

/** The wire names of the live product. A session is open while it is `reserved` or `started`. */
export const SESSION_TRANSITIONS = {
  reserved: ["started", "released", "failed"],
  started: ["released", "failed"],
  released: [],
  failed: [],
} as const;
export type SessionStatus = keyof typeof SESSION_TRANSITIONS;
export const SESSION_STATUSES = Object.keys(SESSION_TRANSITIONS) as SessionStatus[];
