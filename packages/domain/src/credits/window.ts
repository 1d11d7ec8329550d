/** The time window of lists and sums of usage sessions. It selects by the creation of a session. */
import { EARLIEST, parseDateTime } from "../date-time.ts";
import { type FieldError, validationFailed } from "../problem.ts";
import type { FieldErrorCode } from "../problems/field-error-codes.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Length of the window when `from` is omitted. */
export const DEFAULT_WINDOW_DAYS = 30;
/** Maximum length of a window. */
export const MAX_WINDOW_DAYS = 90;

/** From `from`, inclusive, to `to`, exclusive: RFC 3339 in UTC with milliseconds. */
export type Window = { from: string; to: string };

/**
 * The query parameters with `from` and `to` in one spelling, so that the same moments in a cursor are the same text.
 * Parameters that are absent stay absent. They must be valid date-times.
 */
export const normalizeWindow = <Parameters extends { from?: string; to?: string }>(
  parameters: Parameters,
): Parameters => {
  const moments = { from: parameters.from, to: parameters.to };
  const present = Object.entries(moments).filter(([, text]) => text !== undefined);
  return {
    ...parameters,
    ...Object.fromEntries(present.map(([name, text = ""]) => [name, parseDateTime(text)?.toISOString()])),
  };
};

/** The end of the second of `now`. So new resources are in the window, and requests of one second share it. */
const endOfSecond = (now: Date): Date => new Date((Math.floor(now.getTime() / 1000) + 1) * 1000);

const refuse = (code: FieldErrorCode, detail: string): never => {
  const error: FieldError = { parameter: "from", code, detail };
  throw validationFailed([error]);
};

/**
 * Throws the problem `validation_failed` when the window has both ends and is empty. The ends are in the form of
 * `normalizeWindow`.
 */
export const refuseEmptyWindow = ({ from, to }: { from?: string; to?: string }): void => {
  if (from !== undefined && to !== undefined && from >= to) refuse("empty_window", "Must be before `to`.");
};

/**
 * The window that a request asks for: `to` is the end of the present second when it is omitted, and `from` is 30 days before `to`. Throws the
 * problem `validation_failed` when the window is empty or longer than 90 days.
 */
export const parseWindow = (request: { from?: string; to?: string }, now: Date): Window => {
  const to = request.to === undefined ? endOfSecond(now) : new Date(request.to);
  // RFC 3339 has no form for times before the year 0.
  const earliest = Math.max(to.getTime() - DEFAULT_WINDOW_DAYS * DAY_MS, EARLIEST);
  const from = new Date(request.from ?? earliest);
  const length = to.getTime() - from.getTime();
  if (length <= 0) refuse("empty_window", "Must be before `to`, which is now when it is omitted.");
  if (length > MAX_WINDOW_DAYS * DAY_MS) {
    refuse(
      "window_too_long",
      `Must be at most ${MAX_WINDOW_DAYS} days before \`to\`, which is now when it is omitted.`,
    );
  }
  return { from: from.toISOString(), to: to.toISOString() };
};
