/**
 * Error responses: `application/problem+json` (RFC 9457). Their texts are fixed, without internal data and without
 * input of the caller.
 */

import { DatabaseError, databaseFailure, isAbort } from "@realtime-avatar/db/connection/errors";
import { SCOPES } from "@realtime-avatar/domain/api-keys/scope";
import type { Environment } from "@realtime-avatar/domain/environment";
import { ROLES } from "@realtime-avatar/domain/people/roles";
import { notFound, PROBLEMS, Problem, type ProblemCode } from "@realtime-avatar/domain/problem";
import { LIMITED_BY, SESSION_LIMITED_BY } from "@realtime-avatar/domain/problems/extras";
import { FIELD_ERROR_CODES, type FieldErrorCode } from "@realtime-avatar/domain/problems/field-error-codes";
import { Count, MAX_ERRORS, Nullable, OneOf } from "@realtime-avatar/domain/schema";
import { StorageError } from "@realtime-avatar/storage/storage";
import { type TLiteral, type TProperties, Type } from "@sinclair/typebox";
import type { ResponseHead } from "./response.ts";

const UNAVAILABLE = "The database cannot be reached. Try again shortly.";
const STORE_UNAVAILABLE = "The store of files cannot be reached, or has no room. Try again shortly.";
const RETRY_AFTER_SECONDS = 1;

/** The problem for an error. An unknown error is `internal_error`; its message is not sent. */
export const toProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error;
  // The client has disconnected, so this problem appears only in the log and the metrics.
  if (isAbort(error)) return new Problem("malformed_request", "The connection ended before the request was executed.");
  if (error instanceof StorageError && error.reason !== "damaged") {
    return new Problem("unavailable", STORE_UNAVAILABLE, { retryable: true }, { cause: error });
  }
  // `throwWriteError` reports writes with an unknown outcome. All other failures of the database have changed nothing.
  if (databaseFailure(error)) return new Problem("unavailable", UNAVAILABLE, { retryable: true });
  return new Problem("internal_error", "The service has a defect. The request id identifies the request in its log.");
};

/**
 * The problem `not_found` for a key. It names the environment of the key, because a key of the wrong environment is a
 * frequent cause. It does so for every id, so the response reveals nothing about other resources.
 */
export const notFoundForKey = (environment: Environment): Problem => {
  const ofKey = `The API key is for the ${environment} environment, and finds nothing of the other one.`;
  return new Problem("not_found", `${notFound().detail} ${ofKey}`);
};

/**
 * Throws the error of a write. If the connection was lost during the write, its outcome is unknown: the problem
 * `outcome_unknown`. `isRepeatable`: the request can be sent again without being executed twice.
 */
export const throwWriteError = (error: unknown, isRepeatable: boolean): never => {
  if (databaseFailure(error) !== "outcome_unknown") throw error;
  const what = isRepeatable ? "Send the request again, with its Idempotency-Key." : "Check whether it took effect.";
  const detail = `The database did not respond, or the connection to it was lost. ${what}`;
  throw new Problem("outcome_unknown", detail, { retryable: isRepeatable }, { cause: error });
};

/**
 * Runs a write outside of the steps of `write.ts`, without an `Idempotency-Key`. Its request has no caller (a sign-in,
 * an invitation, a leaked key), comes from the provider (`oidc-callback.ts`), or is repeated until it is acknowledged
 * (an avatar worker, an agent). It takes effect once, because it consumes a challenge, an attempt, an invitation or a
 * token, or checks the state.
 */
export const runWrite = <Outcome>(write: () => Promise<Outcome>): Promise<Outcome> =>
  write().catch((error: unknown) => throwWriteError(error, false));

/** The errors of the database queue that mean overload. */
const OVERLOAD = new Set(["QUEUE_FULL", "DEADLINE_EXCEEDED"]);

/** Whether only overload caused `error`, which the client got as `problem`. */
export const isOverload = (error: unknown, { code }: Problem): boolean => {
  if (code !== "unavailable") return false;
  const cause = error instanceof Problem ? error.cause : error;
  return cause === undefined || (cause instanceof DatabaseError && OVERLOAD.has(cause.code));
};

const CHALLENGE = 'Bearer realm="realtime-avatar"';

/** The `WWW-Authenticate` challenge (RFC 6750 §3), with an error code only when credentials were sent; or null. */
const challenge = ({ code, status, extras }: Problem): string | null => {
  if (code === "missing_api_key") return CHALLENGE;
  if (status === 401) return `${CHALLENGE}, error="invalid_token"`;
  if (code === "insufficient_scope") return `${CHALLENGE}, error="insufficient_scope", scope="${extras.requiredScope}"`;
  return null;
};

/** Sets the status and the headers of a problem response, and returns its body. */
export const writeProblem = (problem: Problem, requestId: string, set: ResponseHead): string => {
  const { code, status, detail } = problem;
  const { retryAfterSeconds, hangUp, location, retryable = false } = problem.extras;
  const { errors, requiredScope, grantedScopes, currentStatus, allowedStatuses } = problem.extras;
  const { requiredCreditMicros, limitedBy, requiredRole, role } = problem.extras;
  const { maxConcurrentSessions, liveSessions, activeSessions, connectingSessions, pendingSessions } = problem.extras;
  const { headers } = set;
  set.status = status;
  headers["content-type"] = "application/problem+json";
  const authenticate = challenge(problem);
  if (authenticate) headers["www-authenticate"] = authenticate;
  const retryAfter = retryAfterSeconds ?? (status === 429 || status === 503 ? RETRY_AFTER_SECONDS : undefined);
  if (retryAfter !== undefined) headers["retry-after"] = String(retryAfter);
  if (hangUp) headers["connection"] = "close";
  if (location !== undefined) headers["location"] = location;
  const common = { type: `/problems/${code}`, title: PROBLEMS[code].title, status, detail, code, requestId, retryable };
  const others = { errors, requiredScope, grantedScopes, currentStatus, allowedStatuses };
  const sessions = { maxConcurrentSessions, liveSessions, activeSessions, connectingSessions, pendingSessions };
  return JSON.stringify({ ...common, ...others, requiredRole, role, requiredCreditMicros, limitedBy, ...sessions });
};

/** A problem as a `Response`, for a request that the application could not handle. */
export const problemResponse = (problem: Problem, requestId: string): Response => {
  const headers = { "x-request-id": requestId, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const body = writeProblem(problem, requestId, { headers });
  return new Response(body, { status: problem.status, headers });
};

const fieldError = {
  pointer: Type.Optional(Type.String({ description: "A JSON Pointer into the body, in fragment form." })),
  parameter: Type.Optional(Type.String({ description: "The name of a query parameter." })),
  header: Type.Optional(Type.String({ description: "The name of a header." })),
  detail: Type.String(),
};
const { grant, ...others } = FIELD_ERROR_CODES;
const code = (codes: readonly FieldErrorCode[]) => OneOf([...new Set(codes)], { description: "The error, as text." });
const strict = { additionalProperties: false };
const bounds = { minItems: 1, maxItems: MAX_ERRORS };
const allowed = Type.Unknown({
  description: "The values that the calling key may grant; null when it may grant none.",
});
const scopes = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));

const requiredCreditMicros = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "The minimal hold of the request, in credit micros.",
});
const SessionCount = (description: string) => Type.Optional(Count({ description }));
const limitedBy = Type.Union(
  LIMITED_BY.map((whose) => Type.Literal(whose)),
  { description: "The owner of the spend cap: the calling key or one of its ancestors." },
);

/** The members that only some problems have. */
const MEMBERS: Partial<Record<ProblemCode, TProperties>> = {
  validation_failed: {
    errors: Type.Array(Type.Object({ ...fieldError, code: code(Object.values(others).flat()) }, strict), bounds),
  },
  grant_exceeds_caller: {
    errors: Type.Array(Type.Object({ ...fieldError, code: code(grant), allowed }, strict), bounds),
  },
  spend_limit_exceeded: { requiredCreditMicros, limitedBy },
  insufficient_credits: { requiredCreditMicros },
  concurrency_limit_reached: {
    limitedBy: OneOf(SESSION_LIMITED_BY, {
      description: "The owner of the limit: the calling key, one of its ancestors, or the tenant.",
    }),
    maxConcurrentSessions: Count({ minimum: 1, description: "The limit." }),
    liveSessions: SessionCount("Open sessions that count against the limit. Only for the calling key's own limit."),
    activeSessions: SessionCount("Started sessions among them."),
    connectingSessions: SessionCount("Sessions among them that were not started yet."),
    pendingSessions: SessionCount("Starts of calls that are waiting for a slot."),
  },
  insufficient_scope: { requiredScope: scopes, grantedScopes: Type.Array(scopes) },
  insufficient_role: {
    requiredRole: Nullable(OneOf(ROLES), {
      description: "The required role; null: the operation is only for API keys.",
    }),
    role: Nullable(OneOf(ROLES), { description: "The role of the caller; null: the caller is an API key." }),
  },
  invalid_transition: { currentStatus: Type.String(), allowedStatuses: Type.Array(Type.String()) },
};

/** The schema of the body of a problem with this code. */
export const problemSchema = (code: ProblemCode) =>
  Type.Object(
    {
      type: Type.Literal(`/problems/${code}`),
      title: Type.Literal(PROBLEMS[code].title),
      // TypeBox says `number`, for which generators write a floating-point type.
      status: { ...Type.Literal(PROBLEMS[code].status), type: "integer" } as TLiteral<number>,
      detail: Type.String({ description: "The error, as text for people." }),
      code: Type.Literal(code),
      requestId: Type.String({ description: "As in `X-Request-Id`." }),
      retryable: Type.Boolean({
        description: "Whether the same request may be sent again without being executed twice.",
      }),
      ...MEMBERS[code],
    },
    { ...strict, description: PROBLEMS[code].meaning },
  );
