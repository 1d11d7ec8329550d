/** The request context: what the service knows of one request, for its response headers, log line and audit event. */

import type { RecordSpan } from "@realtime-avatar/db/connection/request-limit";
import type { Origin } from "@realtime-avatar/db/statements/audit-events";
import { maskApiKeys } from "@realtime-avatar/domain/api-key-secret";
import { newRequestId, type RandomBytes } from "@realtime-avatar/domain/id";
import type { ProblemCode } from "@realtime-avatar/domain/problem";
import type { RequestSpan } from "@realtime-avatar/runtime/tracing";
import { Elysia } from "elysia";

export type RequestContext = {
  requestId: string;
  /** As of `performance.now()`. */
  startedAt: number;
  /** By when the database must have done its part, on the same clock. The time that the client takes is added. */
  deadline: number;
  /** The trace that the request is part of (W3C Trace Context), where there is one. */
  traceId?: string | undefined;
  span?: RequestSpan | undefined;
  recordSpan?: RecordSpan | undefined;
  /**
   * Whether the client has hung up, or has been answered by Bun already: then nothing may be written. Bun creates the
   * signal of a request when it is first asked for, and sets it rightly then.
   */
  isAborted: () => boolean;
  /** Called when the body has been read to its end; only set when the connection would be closed otherwise. */
  onBodyRead?: (() => void) | undefined;
  tenantId?: string;
  keyId?: string;
  problem?: ProblemCode;
  /** What went wrong on our side. */
  error?: unknown;
  /** Whether the request was refused for load alone. */
  isShed?: boolean;
};

/**
 * Elysia's `set`: the status and the headers of the response. A handler that returns text sets them here: Elysia would
 * copy a returned `Response`, header by header, to add what is here.
 */
export type ResponseHead = { status?: number | string; headers: Record<string, string | number> };

export const MAX_REQUEST_ID_LENGTH = 128;
export const REQUEST_ID_PATTERN = "^[A-Za-z0-9._-]+$";
const REQUEST_ID = new RegExp(REQUEST_ID_PATTERN);

/** The caller's own request id, if it is harmless in headers and logs and no key by mistake; else a new one. */
export const requestIdFor = (sent: string | null, now: Date, random: RandomBytes): string =>
  sent !== null && sent.length <= MAX_REQUEST_ID_LENGTH && REQUEST_ID.test(sent) && maskApiKeys(sent) === sent
    ? sent
    : newRequestId(now, random);

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The id of the trace that a `traceparent` names (W3C Trace Context §3.2.2); undefined when it is none. */
export const traceIdOf = (traceparent: string | null): string | undefined =>
  traceparent === null ? undefined : TRACEPARENT.exec(traceparent)?.[1];

/** Types the `requestContext` of handlers. The application sets a fresh one for each request before anything else runs. */
export const withRequestContext = new Elysia({ name: "request-context" }).decorate(
  "requestContext",
  {} as RequestContext,
);

/** The origin of a write of this request: `actor` is the key that acts, or null. */
export const originOf = (
  { clock, random }: { clock: () => Date; random: RandomBytes },
  actor: Origin["actor"],
  { requestId }: RequestContext,
): Origin => ({ actor, requestId, now: clock(), random });
