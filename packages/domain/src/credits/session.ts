/** Usage sessions as the database returns them, and as the API shows them. */
import type { UsageSession } from "./schemas.ts";

/**
 * A session as the database returns it, and as it is stored for replays: the outcome, under the names of the API.
 * Its times may have any form of ISO 8601.
 */
export type SessionRecord = UsageSession & {
  /** Incremented by every change; the value of the ETag. */
  version: number;
};

const TIMES = ["startedAt", "endedAt", "createdAt", "expiresAt"] as const;

/** A session, or a part of one, as the API shows it. A response that an earlier release stored is unchanged. */
export const presentSession = <Part extends Partial<SessionRecord>>({
  version: _,
  ...part
}: Part): Omit<Part, "version"> => {
  const times = TIMES.flatMap((name) => (part[name] ? [[name, new Date(part[name]).toISOString()]] : []));
  return { ...part, ...Object.fromEntries(times) };
};
