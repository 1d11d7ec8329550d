/** The request context: the data of one request for its response headers, log line and audit event. */

import type { Origin } from "@realtime-avatar/db/audit/audit-events";
import type { RecordSpan } from "@realtime-avatar/db/connection/request-limit";
import { maskApiKeys } from "@realtime-avatar/domain/api-keys/secret";
import type { Environment } from "@realtime-avatar/domain/environment";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { RequestSpan } from "@realtime-avatar/runtime/tracing";
import { Elysia } from "elysia";

export type RequestContext = {
  requestId: string;
  /** In the time of `performance.now()`. */
  startedAt: number;
  /**
   * The time, on the same clock, when the work of the database must be complete. The time in which the client sends the
   * body is added.
   */
  deadline: number;
  /** The trace to which the request belongs (W3C Trace Context), if any. */
  traceId?: string | undefined;
  span?: RequestSpan | undefined;
  recordSpan?: RecordSpan | undefined;
  /**
   * Whether the client has disconnected, or Bun has already responded: the request must not write then. Bun creates the
   * signal of a request on first access, with the correct state.
   */
  isAborted: () => boolean;
  /** Called after the whole body was read. Set only if the connection would otherwise be closed. */
  onBodyRead?: (() => void) | undefined;
  tenantId?: string;
  keyId?: string;
  /** The environment of the key, after authentication. */
  keyEnvironment?: Environment;
  /** The calling person. */
  userId?: string;
  problem?: ProblemCode;
  /** The defect or failure of the service, for the log. */
  error?: unknown;
  /**
   * Whether programs of the operator send such requests regularly. They are logged only when they fail, or at the level
   * `debug`.
   */
  isRoutine?: boolean;
  /** Whether the request was refused because of overload. */
  isShed?: boolean;
};

export const MAX_REQUEST_ID_LENGTH = 128;
export const REQUEST_ID_PATTERN = "^[A-Za-z0-9._-]+$";
const REQUEST_ID = new RegExp(REQUEST_ID_PATTERN);

/** The request id that the caller sent, if it is safe in headers and logs and is not an API key; otherwise a new one. */
export const requestIdFor = (sent: string | null, now: Date, random: RandomBytes): string =>
  sent !== null && sent.length <= MAX_REQUEST_ID_LENGTH && REQUEST_ID.test(sent) && maskApiKeys(sent) === sent
    ? sent
    : newRequestId(now, random);

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace id in a `traceparent` (W3C Trace Context §3.2.2); undefined when it is malformed. */
export const parseTraceId = (traceparent: string | null): string | undefined =>
  traceparent === null ? undefined : TRACEPARENT.exec(traceparent)?.[1];

/** Types the `requestContext` of handlers. The application sets a new one for each request before anything else runs. */
export const withRequestContext = new Elysia({ name: "request-context" }).decorate(
  "requestContext",
  {} as RequestContext,
);

/** The origin of a write of this request. `actor`: the acting key or person, or null. */
export const requestOrigin = (
  { clock, random }: { clock: () => Date; random: RandomBytes },
  actor: Origin["actor"],
  { requestId }: RequestContext,
): Origin => ({ actor, requestId, now: clock(), random });

/** Runs work that can take longer than the database. Moves the deadline of the request by the time of the work. */
export const untimed = async <Result>(context: RequestContext, work: () => Promise<Result>): Promise<Result> => {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    context.deadline += performance.now() - startedAt;
  }
};
