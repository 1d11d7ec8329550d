/** Errors as answers: `application/problem+json` (RFC 9457), in fixed words, with nothing internal and no echo. */
import { DatabaseError, databaseFailure, isAbort } from "@realtime-avatar/db/connection/errors";
import { PROBLEMS, Problem, type ProblemCode } from "@realtime-avatar/domain/problem";
import { MAX_ERRORS } from "@realtime-avatar/domain/schema";
import { SCOPES } from "@realtime-avatar/domain/scope";
import { type TProperties, Type } from "@sinclair/typebox";
import type { ResponseHead } from "./request-context.ts";

const UNAVAILABLE = "The database cannot be reached. Try again shortly.";
const RETRY_AFTER_SECONDS = 1;

/** The answer that an error means. What we do not know is `internal_error`: its words stay with us. */
export const toProblem = (error: unknown): Problem => {
  if (error instanceof Problem) return error;
  // The client has gone. This is for the log and the metrics.
  if (isAbort(error)) return new Problem("malformed_request", "The connection ended before the request was executed.");
  // Writes say themselves when their outcome is unknown; whatever else fails at the database changed nothing.
  if (databaseFailure(error)) return new Problem("unavailable", UNAVAILABLE, { retryable: true });
  return new Problem("internal_error", "Something went wrong on our side. The request id identifies it in our log.");
};

/** Why work is refused for load alone. */
const OVERLOAD = new Set(["QUEUE_FULL", "DEADLINE_EXCEEDED"]);

/** Whether `error`, which was answered with `problem`, says that the service had too much to do, and nothing worse. */
export const isOverload = (error: unknown, { code }: Problem): boolean => {
  if (code !== "unavailable") return false;
  const cause = error instanceof Problem ? error.cause : error;
  return cause === undefined || (cause instanceof DatabaseError && OVERLOAD.has(cause.code));
};

const CHALLENGE = 'Bearer realm="realtime-avatar"';

/** The challenge of RFC 6750 §3: an error code only when credentials were sent. */
const challenge = ({ code, status, extras }: Problem): string | null => {
  if (code === "missing_api_key") return CHALLENGE;
  if (status === 401) return `${CHALLENGE}, error="invalid_token"`;
  if (code === "insufficient_scope") return `${CHALLENGE}, error="insufficient_scope", scope="${extras.requiredScope}"`;
  return null;
};

/** Makes a problem the answer to the request `requestId`: sets its status and headers, and gives its body. */
export const writeProblem = (problem: Problem, requestId: string, set: ResponseHead): string => {
  const { headers } = set;
  set.status = problem.status;
  headers["content-type"] = "application/problem+json";
  const wanted = challenge(problem);
  if (wanted) headers["www-authenticate"] = wanted;
  const retryAfter = problem.extras.retryAfterSeconds ?? (problem.status === 503 ? RETRY_AFTER_SECONDS : undefined);
  if (retryAfter !== undefined) headers["retry-after"] = String(retryAfter);
  if (problem.extras.hangUp) headers["connection"] = "close";
  if (problem.extras.location !== undefined) headers["location"] = problem.extras.location;
  const body = {
    type: `/problems/${problem.code}`,
    title: PROBLEMS[problem.code].title,
    status: problem.status,
    detail: problem.detail,
    code: problem.code,
    requestId,
    retryable: problem.extras.retryable ?? false,
    errors: problem.extras.errors,
    requiredScope: problem.extras.requiredScope,
    grantedScopes: problem.extras.grantedScopes,
    currentStatus: problem.extras.currentStatus,
    allowedStatuses: problem.extras.allowedStatuses,
  };
  return JSON.stringify(body);
};

/** A problem as a response of its own, for a request that the application could not answer. */
export const problemResponse = (problem: Problem, requestId: string): Response => {
  const headers = { "x-request-id": requestId, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  const set: ResponseHead = { headers: { ...headers } };
  const body = writeProblem(problem, requestId, set);
  return new Response(body, { status: problem.status, headers: set.headers as Record<string, string> });
};

const fieldError = {
  pointer: Type.Optional(Type.String({ description: "A JSON Pointer into the body, in fragment form." })),
  parameter: Type.Optional(Type.String({ description: "The name of a query parameter." })),
  header: Type.Optional(Type.String({ description: "The name of a header." })),
  code: Type.String(),
  detail: Type.String(),
};
const strict = { additionalProperties: false };
const bounds = { minItems: 1, maxItems: MAX_ERRORS };
const allowed = Type.Unknown({ description: "What the calling key may give; null when nothing will do." });
const scopes = Type.Union(SCOPES.map((scope) => Type.Literal(scope)));

/** What only some problems have. */
const MEMBERS: Partial<Record<ProblemCode, TProperties>> = {
  validation_failed: { errors: Type.Array(Type.Object(fieldError, strict), bounds) },
  grant_exceeds_caller: { errors: Type.Array(Type.Object({ ...fieldError, allowed }, strict), bounds) },
  insufficient_scope: { requiredScope: scopes, grantedScopes: Type.Array(scopes) },
  invalid_transition: { currentStatus: Type.String(), allowedStatuses: Type.Array(Type.String()) },
};

/** The schema of the body of a problem with this code. */
export const problemSchema = (code: ProblemCode) =>
  Type.Object(
    {
      type: Type.Literal(`/problems/${code}`),
      title: Type.Literal(PROBLEMS[code].title),
      status: Type.Literal(PROBLEMS[code].status),
      detail: Type.String({ description: "What is wrong, in words for people." }),
      code: Type.Literal(code),
      requestId: Type.String({ description: "As in `X-Request-Id`." }),
      retryable: Type.Boolean({
        description: "Whether the same request may be sent again without being executed twice.",
      }),
      ...MEMBERS[code],
    },
    { ...strict, description: PROBLEMS[code].meaning },
  );
