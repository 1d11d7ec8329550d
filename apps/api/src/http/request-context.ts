/** The request context: the data of one request that its response headers, log line and audit event need. */

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
  /** As of `performance.now()`. */
  startedAt: number;
  /** When the work of the database must be complete, on the same clock. The time in which the client sends the body is added. */
  deadline: number;
  /** The trace to which the request belongs (W3C Trace Context), if any. */
  traceId?: string | undefined;
  span?: RequestSpan | undefined;
  recordSpan?: RecordSpan | undefined;
  /**
   * Whether the client has disconnected, or Bun has responded already: then nothing may be written. Bun creates the signal
   * of a request on first access, with the correct state.
   */
  isAborted: () => boolean;
  /** Called when the whole body has been read; set only when the connection would be closed otherwise. */
  onBodyRead?: (() => void) | undefined;
  tenantId?: string;
  keyId?: string;
  /** Of the key, once it is authenticated. */
  keyEnvironment?: Environment;
  /** The person who calls. */
  userId?: string;
  problem?: ProblemCode;
  /** The defect or failure of the service, for the log. */
  error?: unknown;
  /** Whether programs of the operator send such a request all the time: it is logged only when it fails, or at the level `debug`. */
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

/** The origin of a write of this request: `actor` is the key or the person that acts, or null. */
export const requestOrigin = (
  { clock, random }: { clock: () => Date; random: RandomBytes },
  actor: Origin["actor"],
  { requestId }: RequestContext,
): Origin => ({ actor, requestId, now: clock(), random });

/** Runs work that may take longer than the database: the deadline of the request moves by the time that it took. */
export const untimed = async <Result>(context: RequestContext, work: () => Promise<Result>): Promise<Result> => {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    context.deadline += performance.now() - startedAt;
  }
};
