/**
 * Requests for pages of the list of usage sessions, and of their sums. Both select a time window, which a cursor keeps.
 */
import type { SessionId } from "../id.ts";
import { invalidCursor, readPage } from "../page.ts";
import { type SessionKind, type SummaryGroup, USAGE_SESSION_LIST, USAGE_SUMMARY } from "./schemas.ts";
import type { SessionStatus } from "./status.ts";
import { normalizeWindow, parseWindow, type Window } from "./window.ts";

/** A request for a page of sessions that were created in a window. */
export type SessionPageRequest = {
  filters: Window & {
    endUserId?: string;
    status?: SessionStatus;
    apiKeyId?: string;
    avatarId?: string;
    kind?: SessionKind;
  };
  before: SessionId | null;
  limit: number;
};

/** A request for a page of sums. */
export type SummaryPageRequest = { filters: Window & { groupBy: SummaryGroup }; before: SessionId | null };

const isOfPage = "Must be the `nextCursor` of a page of this list.";

/**
 * Reads the query parameters of the list, which are valid for `USAGE_SESSION_LIST.query`. Throws the problem
 * `validation_failed`.
 */
export const readSessionPage = (parameters: object, now: Date): SessionPageRequest => {
  const { filters, before, limit } = readPage(USAGE_SESSION_LIST, normalizeWindow({ ...parameters }));
  if (before !== null && (filters.from === undefined || filters.to === undefined)) throw invalidCursor(isOfPage);
  return { filters: { ...filters, ...parseWindow(normalizeWindow(filters), now) }, before, limit };
};

/** Reads the query parameters of the sums, which are valid for `USAGE_SUMMARY.query`. Throws like `readSessionPage`. */
export const readSummaryPage = (parameters: object, now: Date): SummaryPageRequest => {
  const { filters, before } = readPage(USAGE_SUMMARY, normalizeWindow({ ...parameters }));
  const { groupBy, from, to } = filters;
  if (before !== null && (groupBy === undefined || from === undefined || to === undefined)) {
    throw invalidCursor(isOfPage);
  }
  return { filters: { ...parseWindow(normalizeWindow(filters), now), groupBy: groupBy ?? "apiKey" }, before };
};
